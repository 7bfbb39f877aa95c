package edits

import (
	"strings"

	"github.com/sergi/go-diff/diffmatchpatch"
)

// Diff returns the whole lines by which after differs from before. Lines that
// are unique on both sides hold the two together; between them Myers'
// algorithm finds the smallest difference.
func Diff(before, after string) []Edit {
	if before == after {
		return nil
	}
	a, b := splitLines(before), splitLines(after)
	d := differ{ids: make(map[string]int, len(a))}
	d.a, d.b = d.intern(a), d.intern(b)
	d.diff(0, len(a), 0, len(b), 0)
	return d.edits(before, after, a, b)
}

// splitLines cuts text after each \n.
func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	out := make([]string, 0, strings.Count(text, "\n")+1)
	for text != "" {
		i := strings.IndexByte(text, '\n') + 1
		if i == 0 {
			i = len(text)
		}
		out = append(out, text[:i])
		text = text[i:]
	}
	return out
}

// A differ compares two lists of line ids.
type differ struct {
	ids  map[string]int
	a, b []int
	out  []span // lines replaced, in order
	late int    // regions large enough to run out of time
}

// A span says that lines [a0, a1) became lines [b0, b1).
type span struct{ a0, a1, b0, b1 int }

func (d *differ) intern(lines []string) []int {
	out := make([]int, len(lines))
	for i, l := range lines {
		id, ok := d.ids[l]
		if !ok {
			id = len(d.ids)
			d.ids[l] = id
		}
		out[i] = id
	}
	return out
}

// maxDepth bounds how often a region is divided, so that no text takes
// quadratic time.
const maxDepth = 64

func (d *differ) diff(a0, a1, b0, b1, depth int) {
	for a0 < a1 && b0 < b1 && d.a[a0] == d.b[b0] {
		a0, b0 = a0+1, b0+1
	}
	for a0 < a1 && b0 < b1 && d.a[a1-1] == d.b[b1-1] {
		a1, b1 = a1-1, b1-1
	}
	if a0 == a1 || b0 == b1 {
		d.add(span{a0, a1, b0, b1})
		return
	}
	var anchors [][2]int
	if depth < maxDepth {
		anchors = d.anchors(a0, a1, b0, b1)
	}
	if len(anchors) == 0 {
		d.myers(a0, a1, b0, b1)
		return
	}
	for _, p := range anchors {
		d.diff(a0, p[0], b0, p[1], depth+1)
		a0, b0 = p[0]+1, p[1]+1
	}
	d.diff(a0, a1, b0, b1, depth+1)
}

func (d *differ) add(s span) {
	if s.a0 == s.a1 && s.b0 == s.b1 {
		return
	}
	if n := len(d.out); n > 0 && d.out[n-1].a1 == s.a0 && d.out[n-1].b1 == s.b0 {
		d.out[n-1].a1, d.out[n-1].b1 = s.a1, s.b1
		return
	}
	d.out = append(d.out, s)
}

// large is from which product of line counts on runs of lines are tried as
// anchors, as the comparison without any may not end in its time.
const large = 1 << 20

// anchors returns the longest rising chain of lines that occur once on each
// side (patience diff). A large region without any is held together by runs
// of lines that do.
func (d *differ) anchors(a0, a1, b0, b1 int) [][2]int {
	a, b := d.a[a0:a1], d.b[b0:b1]
	pairs := once(a, b)
	if len(pairs) == 0 && len(a)*len(b) > large {
		for n := 2; n <= 16 && len(pairs) == 0; n *= 2 {
			// windows of n lines from windows of n/2
			ids := make(map[[2]int]int, len(a))
			a, b = windows(a, n/2, ids), windows(b, n/2, ids)
			pairs = once(a, b)
		}
	}
	pairs = rising(pairs)
	for i := range pairs {
		pairs[i][0] += a0
		pairs[i][1] += b0
	}
	return pairs
}

// windows joins each id of list with the one n places later, and names the
// pairs by ids.
func windows(list []int, n int, ids map[[2]int]int) []int {
	out := make([]int, 0, len(list))
	for i := 0; i+n < len(list); i++ {
		key := [2]int{list[i], list[i+n]}
		id, ok := ids[key]
		if !ok {
			id = len(ids)
			ids[key] = id
		}
		out = append(out, id)
	}
	return out
}

// once returns the indexes of what occurs once in each list, in a's order.
func once(a, b []int) [][2]int {
	type place struct{ na, nb, ib int }
	m := make(map[int]place, len(a))
	for _, id := range a {
		p := m[id]
		p.na++
		m[id] = p
	}
	for j, id := range b {
		if p, ok := m[id]; ok {
			p.nb++
			p.ib = j
			m[id] = p
		}
	}
	var pairs [][2]int
	for i, id := range a {
		if p := m[id]; p.na == 1 && p.nb == 1 {
			pairs = append(pairs, [2]int{i, p.ib})
		}
	}
	return pairs
}

// rising returns the longest subsequence of pairs, sorted by their first,
// whose second rises.
func rising(pairs [][2]int) [][2]int {
	tails := make([]int, 0, len(pairs)) // index of the pair that ends the best chain of each length
	prev := make([]int, len(pairs))
	for i, p := range pairs {
		lo, hi := 0, len(tails)
		for lo < hi {
			mid := (lo + hi) / 2
			if pairs[tails[mid]][1] < p[1] {
				lo = mid + 1
			} else {
				hi = mid
			}
		}
		prev[i] = -1
		if lo > 0 {
			prev[i] = tails[lo-1]
		}
		if lo == len(tails) {
			tails = append(tails, i)
		} else {
			tails[lo] = i
		}
	}
	out := make([][2]int, len(tails))
	if len(tails) == 0 {
		return nil
	}
	for k, i := len(tails)-1, tails[len(tails)-1]; k >= 0; k, i = k-1, prev[i] {
		out[k] = pairs[i]
	}
	return out
}

// maxRunes is how many different lines fit in one comparison: code points
// less the surrogates.
const maxRunes = 0x10ffff - 0x800

// myers compares lines that no anchor divides. Past its time it answers with
// a coarser difference, never a wrong one.
func (d *differ) myers(a0, a1, b0, b1 int) {
	local := make(map[int]rune)
	runes := func(ids []int) []rune {
		out := make([]rune, len(ids))
		for i, id := range ids {
			r, ok := local[id]
			if !ok {
				r = rune(len(local) + 1)
				local[id] = r
			}
			if r >= 0xd800 {
				r += 0x800
			}
			out[i] = r
		}
		return out
	}
	a, b := runes(d.a[a0:a1]), runes(d.b[b0:b1])
	if len(local) >= maxRunes {
		d.add(span{a0, a1, b0, b1})
		return
	}
	dmp := diffmatchpatch.New()
	dmp.DiffTimeout = 300_000_000 // nanoseconds
	if len(a)*len(b) > large {    // together they take twice the first's time
		dmp.DiffTimeout = max(dmp.DiffTimeout>>min(d.late, 10), 5_000_000)
		d.late++
	}
	for _, part := range dmp.DiffMainRunes(a, b, false) {
		n := len([]rune(part.Text))
		switch part.Type {
		case diffmatchpatch.DiffEqual:
			a0, b0 = a0+n, b0+n
		case diffmatchpatch.DiffDelete:
			d.add(span{a0, a0 + n, b0, b0})
			a0 += n
		case diffmatchpatch.DiffInsert:
			d.add(span{a0, a0, b0, b0 + n})
			b0 += n
		}
	}
}

func (d *differ) edits(before, after string, a, b []string) []Edit {
	out := make([]Edit, 0, len(d.out))
	ia, ib, pa, pb := 0, 0, 0, 0
	for _, s := range d.out {
		for ; ia < s.a0; ia++ {
			pa += len(a[ia])
		}
		for ; ib < s.b0; ib++ {
			pb += len(b[ib])
		}
		start, from := pa, pb
		for ; ia < s.a1; ia++ {
			pa += len(a[ia])
		}
		for ; ib < s.b1; ib++ {
			pb += len(b[ib])
		}
		out = append(out, Edit{Start: start, End: pa, New: after[from:pb]})
	}
	return out
}
