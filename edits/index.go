package edits

import (
	"encoding/binary"
	"slices"
	"strings"
)

// blockLen is how many bytes of text the index knows as one.
const blockLen = 8

// maxCandidates bounds what a search through the index may look at.
const maxCandidates = 4096

// A blockIndex finds strings in a text without reading all of it: it knows
// where each aligned block of 8 bytes stands. Every occurrence of a string of
// at least 15 bytes holds one whole block.
type blockIndex struct {
	src   string
	shift uint
	head  []int32 // per bucket: 1 + the last block in it, 0 for none
	count []int32 // per bucket
	next  []int32 // per block: as head
}

func newBlockIndex(src string) *blockIndex {
	n := len(src) / blockLen
	bits := uint(10)
	for 1<<bits < n {
		bits++
	}
	x := &blockIndex{src: src, shift: 64 - bits, head: make([]int32, 1<<bits), count: make([]int32, 1<<bits), next: make([]int32, n)}
	for i := range n {
		h := x.bucket(src[i*blockLen:])
		x.next[i] = x.head[h]
		x.head[h] = int32(i + 1)
		x.count[h]++
	}
	return x
}

func (x *blockIndex) bucket(s string) uint64 {
	var b [blockLen]byte
	copy(b[:], s)
	return binary.LittleEndian.Uint64(b[:]) * 0x9e3779b97f4a7c15 >> x.shift
}

// find returns every offset of needle, rising; ok is false when needle is too
// short or its blocks too common to tell.
func (x *blockIndex) find(needle string) (at []int, ok bool) {
	if len(needle) < 2*blockLen-1 {
		return nil, false
	}
	looked := 0
	for k := range blockLen {
		rarest, least := -1, int32(maxCandidates)
		for j := k; j+blockLen <= len(needle); j += blockLen {
			if c := x.count[x.bucket(needle[j:])]; c < least {
				rarest, least = j, c
			}
		}
		if looked += int(least); rarest < 0 || looked > maxCandidates {
			return nil, false
		}
		for b := x.head[x.bucket(needle[rarest:])]; b != 0; b = x.next[b-1] {
			pos := int(b-1)*blockLen - rarest
			if pos >= 0 && strings.HasPrefix(x.src[pos:], needle) {
				at = append(at, pos)
			}
		}
	}
	slices.Sort(at)
	return at, true
}
