package tools

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"coedit/edits"
)

const (
	longLine  = 400 // bytes of a line from which on hunks that don't fit show it in part
	lineParts = 120 // bytes shown around what changed in it
)

// shortHunks cuts long lines down to what changed in them, for people and
// models; a patch needs them whole.
func shortHunks(hunks []edits.Hunk) []edits.Hunk {
	out := slices.Clone(hunks)
	for i := range out {
		lines := slices.Clone(out[i].Lines)
		for n := 0; n < len(lines); {
			if lines[n][0] != '-' {
				if len(lines[n]) > longLine {
					lines[n] = partLine(lines[n], 1, len(lines[n]))
				}
				n++
				continue
			}
			plus := n
			for plus < len(lines) && lines[plus][0] == '-' {
				plus++
			}
			end := plus
			for end < len(lines) && lines[end][0] == '+' {
				end++
			}
			for k := 0; n+k < plus || plus+k < end; k++ {
				minus, added := "", ""
				if n+k < plus {
					minus = lines[n+k]
				}
				if plus+k < end {
					added = lines[plus+k]
				}
				from, rest := common(minus, added)
				if len(minus) > longLine {
					lines[n+k] = partLine(minus, from, len(minus)-rest)
				}
				if len(added) > longLine {
					lines[plus+k] = partLine(added, from, len(added)-rest)
				}
			}
			n = end
		}
		out[i].Lines = lines
	}
	return out
}

// common returns how many bytes two hunk lines share at their ends, their
// first bytes left out.
func common(a, b string) (from, rest int) {
	from = 1
	for from < min(len(a), len(b)) && a[from] == b[from] {
		from++
	}
	for rest < min(len(a), len(b))-from && a[len(a)-1-rest] == b[len(b)-1-rest] {
		rest++
	}
	return from, rest
}

// partLine shows the bytes from to to of a hunk line and some around them.
func partLine(line string, from, to int) string {
	from, to = max(1, from-lineParts), min(len(line), to+lineParts)
	to = min(to, from+3*lineParts)
	for from > 1 && !utf8.RuneStart(line[from]) {
		from--
	}
	for to < len(line) && !utf8.RuneStart(line[to]) {
		to++
	}
	before, after := "", ""
	if from > 1 {
		before = fmt.Sprintf("… (%d characters) …", utf8.RuneCountInString(line[1:from]))
	}
	if to < len(line) {
		after = fmt.Sprintf("… (%d characters) …", utf8.RuneCountInString(line[to:]))
	}
	return line[:1] + before + line[from:to] + after
}
