package lsp

import (
	"regexp"
	"slices"
)

// Introduced remembers the errors that one session introduced and that are
// still there. The zero value is ready. It is not for concurrent use.
type Introduced struct {
	errors []Diagnostic
	edited map[string]bool // files of the call before
}

// maxIntroduced is how many errors are remembered; the oldest go first.
const maxIntroduced = 500

// Fold moves what is remembered through the edits of this call, puts into
// r.Yours what of it still holds (and is not new), remembers the errors of
// r.New (not those elsewhere that others may have caused), and marks new errors about something unused as transient where the
// call before edited the same file: what uses it is probably still to come.
func (i *Introduced) Fold(r *Report, list []Changed) {
	maps, edited := map[string]lineMap{}, map[string]bool{}
	for _, c := range list {
		maps[c.name()], edited[c.name()] = newLineMap(c), true
	}
	known := r.Freshness == Fresh || r.Freshness == Settled
	holding := map[finding][]int{} // places in r.Current not yet accounted for
	for n, d := range r.Current {
		if d.Severity == Error {
			holding[findingOf(d)] = append(holding[findingOf(d)], n)
		}
	}
	var kept []Diagnostic
	for _, old := range i.errors {
		lm := maps[old.Name]
		line, exact := lm.forward(old.Line)
		places := holding[findingOf(old)]
		at := slices.IndexFunc(places, func(n int) bool {
			now := r.Current[n].Line
			return exact && now == line || !exact && lm.touches(now)
		})
		switch {
		case at >= 0:
			d := r.Current[places[at]]
			holding[findingOf(old)] = slices.Delete(places, at, at+1)
			kept = append(kept, d)
			if !slices.Contains(r.New, d) {
				r.Yours = append(r.Yours, d)
			}
		case !known: // the server may only be slow to say it again
			if exact {
				old.Line, old.EndLine = line, old.EndLine+line-old.Line
			}
			kept = append(kept, old)
		}
	}
	for _, d := range r.New {
		if d.Severity == Error && !slices.Contains(kept, d) && (!r.Shared || edited[d.Name]) {
			kept = append(kept, d)
		}
	}
	i.errors = kept[max(0, len(kept)-maxIntroduced):]
	for n := range r.New {
		d := &r.New[n]
		d.Transient = d.Severity == Error && i.edited[d.Name] && isUnused(*d)
	}
	slices.SortStableFunc(r.New, compareDiagnostics)
	slices.SortStableFunc(r.Yours, compareDiagnostics)
	i.edited = edited
}

// All returns what is remembered, the oldest first.
func (i *Introduced) All() []Diagnostic { return slices.Clone(i.errors) }

// Restore puts back what an earlier run remembered.
func (i *Introduced) Restore(errors []Diagnostic) {
	i.errors = slices.Clone(errors[max(0, len(errors)-maxIntroduced):])
}

// finding is what makes two diagnostics the same, besides their place.
type finding struct {
	name                  string
	severity              Severity
	code, source, message string
}

func findingOf(d Diagnostic) finding {
	return finding{d.Name, d.Severity, d.Code, d.Source, withoutLines(d.Message)}
}

// unused is how compilers and linters say it: Go, TypeScript, Rust, C.
var unused = regexp.MustCompile(`(?i)(imported|declared) and not used|declared but (its value is )?never (used|read)|` +
	`unused (import|variable|parameter)|is not accessed|defined but never used|imported but unused`)

func isUnused(d Diagnostic) bool {
	return d.Unnecessary || d.Code == "UnusedImport" || d.Code == "UnusedVar" || unused.MatchString(d.Message)
}
