// Package tools is the agent tool calls: decode, validate, render; one file a
// tool. The Model Context Protocol lives here.
package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"coedit/document"
	"coedit/internal/session"

	"github.com/google/jsonschema-go/jsonschema"
)

// MaxArguments is the size in bytes above which a call's arguments are not
// decoded: the frame's limit.
const MaxArguments = 16 << 20

// maxNesting bounds the depth of arguments before a recursive decoder sees
// them (security rule R1).
const maxNesting = 512

// A Result is what a call answers. Text is complete by itself.
type Result struct {
	Text       string         `json:"text"`
	Structured map[string]any `json:"structured"` // nil on an error
	IsError    bool           `json:"isError"`
	Code       string         `json:"-"` // of an error
	Meta       map[string]any `json:"-"` // bulk that a host may ask for

	quotes  []document.Path // whose text Text and Structured hold
	skip    []document.Path // whose change the answer tells already
	notices []session.External
}

// A tool is one entry of tools/list and its handler.
type tool struct {
	name        string
	description string
	readOnly    bool
	destructive bool
	idempotent  bool
	byDefault   bool
	input       *jsonschema.Schema
	output      *jsonschema.Schema
	run         func(ctx context.Context, c *call) (Result, error)

	resolved *jsonschema.Resolved
}

// A call is one tool call on its way.
type call struct {
	set  *Set
	s    *session.Session
	args json.RawMessage
}

// A Set is the tools that a server offers. It is immutable.
type Set struct {
	all    []*tool
	listed []*tool
	limits Limits
}

// Limits are the bounds of answers that settings may change.
type Limits struct {
	// Report bounds how long a call waits for diagnostics, so that the answer
	// comes before the host gives up. Zero means no bound beside the servers'.
	Report time.Duration
}

// NewSet returns the tools called names, in the fixed order; "default" and
// "all" are groups, none means the default ones. A name that no tool has is an
// error that lists the tools.
func NewSet(names []string, limits Limits) (*Set, error) {
	set := &Set{all: []*tool{readTool(), editTool(), multiEditTool(), writeTool(), diagnosticsTool()}, limits: limits}
	for _, t := range set.all {
		r, err := t.input.Resolve(nil)
		if err != nil {
			return nil, fmt.Errorf("schema of %s: %w", t.name, err)
		}
		t.resolved = r
	}
	if len(names) == 0 {
		names = []string{"default"}
	}
	for _, n := range names {
		known := n == "default" || n == "all"
		for _, t := range set.all {
			if t.name == n || n == "all" || n == "default" && t.byDefault {
				known = true
				if !slices.Contains(set.listed, t) {
					set.listed = append(set.listed, t)
				}
			}
		}
		if !known {
			return nil, fmt.Errorf("no tool is called %q; there are default, all, %s", n, strings.Join(set.names(), ", "))
		}
	}
	slices.SortStableFunc(set.listed, func(a, b *tool) int { return slices.Index(set.all, a) - slices.Index(set.all, b) })
	return set, nil
}

func (set *Set) names() []string {
	out := make([]string, len(set.all))
	for i, t := range set.all {
		out[i] = t.name
	}
	return out
}

// Call runs the tool called name for a session. Every failure is a Result
// with IsError, a code and what to do next.
func (set *Set) Call(ctx context.Context, s *session.Session, name string, args json.RawMessage) (out Result) {
	c := &call{set: set, s: s, args: args}
	defer func() {
		if r := recover(); r != nil {
			out = c.failure(fmt.Errorf("internal error, a bug of coedit: %v", r))
			out.Meta["stack"] = string(debug.Stack())
		}
	}()
	r, err := set.run(ctx, c, name)
	if err != nil {
		r = c.failure(err)
	}
	return c.finish(ctx, r)
}

func (set *Set) run(ctx context.Context, c *call, name string) (Result, error) {
	i := slices.IndexFunc(set.listed, func(t *tool) bool { return t.name == name })
	if i < 0 {
		return Result{}, &argumentError{"no tool is called " + Visible(name) + "; there are " + strings.Join(names(set.listed), ", ")}
	}
	t := set.listed[i]
	if err := validate(t, c.args); err != nil {
		return Result{}, err
	}
	return t.run(ctx, c)
}

func names(list []*tool) []string {
	out := make([]string, len(list))
	for i, t := range list {
		out[i] = t.name
	}
	return out
}

// finish lets an answer out: only text of paths that may be looked at, with
// the changes by others that the agent has not been told of.
func (c *call) finish(ctx context.Context, r Result) Result {
	for _, p := range r.quotes {
		if err := c.s.MayLook(p); err != nil {
			return c.failure(err)
		}
	}
	r.notices = append(r.notices, c.s.Notices(ctx, append(r.skip, r.quotes...)...)...)
	if len(r.notices) > 0 {
		block, list := c.externals(r.notices)
		r.Text += "\n\n" + block
		if r.Structured != nil {
			r.Structured["externalChanges"] = list
		}
	}
	if n := c.s.Outside(); n > 0 {
		r.Text += fmt.Sprintf("\n\n%d files were changed by others since your last call, for example by a checkout. Those that you had read are named.", n)
	}
	if r.Structured != nil {
		r.Structured["text"] = r.Text
	}
	if err := c.s.Save(); err != nil && !r.IsError {
		r.Text += "\n\n(coedit could not keep its read state: " + Visible(err.Error()) + ")"
	}
	return r
}

// validate checks arguments against the tool's schema.
func validate(t *tool, args json.RawMessage) error {
	if len(args) > MaxArguments {
		return &argumentError{fmt.Sprintf("the arguments are %d bytes, at most %d are taken", len(args), MaxArguments)}
	}
	if at := invalidText(args); at >= 0 {
		return &argumentError{fmt.Sprintf("the arguments hold a byte or an escape that is no Unicode character, at byte %d; it would be written as another one", at)}
	}
	if nesting(args) > maxNesting {
		return &argumentError{fmt.Sprintf("the arguments are nested deeper than %d levels", maxNesting)}
	}
	var v any = map[string]any{}
	if len(args) > 0 {
		if err := json.Unmarshal(args, &v); err != nil {
			return &argumentError{"the arguments are not JSON: " + err.Error()}
		}
	}
	m, ok := v.(map[string]any)
	if !ok {
		return &argumentError{"the arguments must be a JSON object"}
	}
	for name := range m {
		if _, ok := t.input.Properties[name]; !ok {
			return &argumentError{fmt.Sprintf("%s has no parameter %s; it has %s", t.name, Visible(name), strings.Join(parameters(t), ", "))}
		}
	}
	for _, name := range t.input.Required {
		if _, ok := m[name]; !ok {
			return &argumentError{fmt.Sprintf("%s needs the parameter %s", t.name, name)}
		}
	}
	if err := t.resolved.Validate(v); err != nil {
		return &argumentError{t.name + ": " + Visible(plainSchemaError(err))}
	}
	return nil
}

// plainSchemaError drops the validator's own path words.
func plainSchemaError(err error) string {
	s, name := err.Error(), ""
	for u := err; u != nil; u = errors.Unwrap(u) {
		s = u.Error()
		if _, rest, ok := strings.Cut(s, "/properties/"); ok && name == "" {
			name, _, _ = strings.Cut(rest, ":")
		}
	}
	if name = strings.TrimSpace(name); name != "" {
		return name + ": " + s
	}
	return s
}

func parameters(t *tool) []string {
	var out []string
	for n := range t.input.Properties {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

// nesting returns how deep the brackets of JSON go, strings left out.
func nesting(b []byte) int {
	depth, deepest, str := 0, 0, false
	for i := 0; i < len(b); i++ {
		switch {
		case str:
			if b[i] == '\\' {
				i++
			} else if b[i] == '"' {
				str = false
			}
		case b[i] == '"':
			str = true
		case b[i] == '{' || b[i] == '[':
			depth++
			deepest = max(deepest, depth)
		case b[i] == '}' || b[i] == ']':
			depth--
		}
	}
	return deepest
}

// invalidText returns the offset of the first byte that is no UTF-8, or of a
// \u escape that is half of a pair; -1 for none. A decoder would put U+FFFD in
// its place without a word.
func invalidText(b []byte) int {
	for i := 0; i < len(b); {
		if b[i] == '\\' && i+1 < len(b) {
			if b[i+1] != 'u' {
				i += 2
				continue
			}
			switch hi := hex(b, i+2); {
			case hi >= 0xdc00 && hi < 0xe000:
				return i
			case hi >= 0xd800 && hi < 0xdc00:
				if i+7 >= len(b) || b[i+6] != '\\' || b[i+7] != 'u' {
					return i
				}
				if lo := hex(b, i+8); lo < 0xdc00 || lo >= 0xe000 {
					return i
				}
				i += 6
			}
			i += 6
			continue
		}
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// hex reads four hex digits, -1 for none.
func hex(b []byte, at int) int {
	if at+4 > len(b) {
		return -1
	}
	n, err := strconv.ParseUint(string(b[at:at+4]), 16, 32)
	if err != nil {
		return -1
	}
	return int(n)
}

// decode reads validated arguments.
func decode[T any](c *call) (T, error) {
	var v T
	if len(c.args) == 0 {
		return v, nil
	}
	if err := json.Unmarshal(c.args, &v); err != nil {
		return v, &argumentError{err.Error()}
	}
	return v, nil
}

// show names a path for a model: relative to the session's folder.
func (c *call) show(p document.Path) string {
	rel, err := filepath.Rel(c.s.Dir(), p.Name())
	if err != nil || strings.HasPrefix(rel, "..") {
		return Visible(p.Name())
	}
	return Visible(filepath.ToSlash(rel))
}

func (c *call) showName(name string) string {
	if !filepath.IsAbs(name) {
		return Visible(name)
	}
	rel, err := filepath.Rel(c.s.Dir(), name)
	if err != nil || strings.HasPrefix(rel, "..") {
		return Visible(name)
	}
	return Visible(filepath.ToSlash(rel))
}
