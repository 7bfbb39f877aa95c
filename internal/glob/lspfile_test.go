package glob

import (
	"errors"
	"strings"
	"testing"
)

func TestLSPFile(t *testing.T) {
	for _, test := range []struct {
		base, pattern string
		yes, no       []string
	}{
		{"/w", "**/*.{go,mod,sum,work}", []string{"/w/a.go", "/w/x/y/go.mod", "/w/.h/a.go"}, []string{"/w/a.gop", "/v/a.go", "/ww/a.go"}},
		{"/w", "**/*.{mod,work}", []string{"/w/go.work"}, []string{"/w/a.go"}},
		{"/w/", "*.go", []string{"/w/a.go"}, []string{"/w/x/a.go"}},
		{"/w", "/abs/**/*.py", []string{"/abs/a.py", "/abs/x/y.py"}, []string{"/w/abs/a.py"}},
		{"/w", "src/**", []string{"/w/src/a", "/w/src/x/y"}, []string{"/w/other/a"}},
		{"/w", "{**/tsconfig.json,**/*.{ts,js}}", []string{"/w/tsconfig.json", "/w/a/b.ts", "/w/c.js"}, []string{"/w/package.json"}},
		{"/w", "a[0-9]?.[!x]", []string{"/w/a1b.c"}, []string{"/w/a1b.x", "/w/aab.c"}},
		{"/w", "./a.go", []string{"/w/a.go"}, nil},
		{"/w", "[id]{a,b}", []string{"/w/ia", "/w/db"}, []string{"/w/xa"}},
	} {
		match, err := LSPFile(test.base, test.pattern)
		if err != nil {
			t.Errorf("%s: %v", test.pattern, err)
			continue
		}
		for _, name := range test.yes {
			if !match(name) {
				t.Errorf("%s does not match %s", test.pattern, name)
			}
		}
		for _, name := range test.no {
			if match(name) {
				t.Errorf("%s matches %s", test.pattern, name)
			}
		}
	}
	for _, pattern := range []string{"{a", "[a", strings.Repeat("{a,aa}", 20), strings.Repeat("x", 5000), strings.Repeat("{", 4000)} {
		if _, err := LSPFile("/w", pattern); !errors.Is(err, ErrPattern) {
			t.Errorf("%.20s: %v", pattern, err)
		}
	}
}

func FuzzLSPFile(f *testing.F) {
	f.Add("{a,{b,c}}/**/*.[!x]", "/w/a/b")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if len(pattern) > 200 || len(name) > 200 {
			return
		}
		if match, err := LSPFile("/w", pattern); err == nil {
			match(name)
		}
	})
}
