package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

type demoCmd struct {
	Keep bool `help:"Keep the temporary folder."`
}

// The module of the demo: a package and one that depends on it.
var demoFiles = map[string]string{
	"go.mod": "module example.test/shop\n\ngo 1.22\n",
	"price/price.go": `// Package price adds prices up.
package price

// Total returns the price of n pieces.
func Total(each, n int) int {
	return each * n
}
`,
	"cart/cart.go": `// Package cart is what a customer buys.
package cart

import "example.test/shop/price"

// Sum is the price of three apples.
func Sum() int {
	return price.Total(120, 3)
}
`,
}

// Run shows each step with the answer an agent gets.
func (c *demoCmd) Run(ctx context.Context, s streams) (err error) {
	dir, err := os.MkdirTemp("", "coedit-demo-")
	if err != nil {
		return err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return err
	}
	defer func() {
		if c.Keep {
			fmt.Fprintln(s.out, "kept:", dir)
			return
		}
		err = errors.Join(err, os.RemoveAll(dir))
	}()
	root := filepath.Join(dir, "shop")
	for name, text := range demoFiles {
		if err := writeDemoFile(filepath.Join(root, name), text); err != nil {
			return err
		}
	}
	p := printer{out: s, colour: isTerminal(s.out)}
	e, err := openEngine(serveFlags{Root: []string{root}, Session: "demo " + dir, Servers: "auto", PermissionMode: "default"}, s, p.progress)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	e.dir = root
	p.title("coedit demo: an agent, a person and gopls on one small Go module (%s)", root)
	if err := p.prepare(ctx, e); err != nil {
		return err
	}
	began := time.Now()
	if err := c.steps(ctx, e, root, &p); err != nil {
		return err
	}
	p.title("Done in %.1f s. That was the real pipeline; plug it into your agent with: coedit mcp", time.Since(began).Seconds())
	return nil
}

func writeDemoFile(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o644)
}

// steps is the story: break, be overtaken, be refused, try again, fix.
func (c *demoCmd) steps(ctx context.Context, e *engine, root string, p *printer) error {
	price, cart := filepath.Join(root, "price", "price.go"), filepath.Join(root, "cart", "cart.go")
	call := func(why, tool string, args map[string]any, wantError bool) error {
		b, err := json.Marshal(args)
		if err != nil {
			return err
		}
		p.call(why, tool, strings.ReplaceAll(string(b), root+"/", ""))
		r := e.set.Call(ctx, e.session(""), tool, b)
		p.answer(r.Text, r.IsError)
		if r.IsError != wantError {
			return fmt.Errorf("%s was expected to end otherwise", tool)
		}
		return nil
	}
	if err := call("The agent reads.", "Read", map[string]any{"file_path": price}, false); err != nil {
		return err
	}
	breaking := map[string]any{"file_path": price, "old_string": "func Total(each, n int) int {\n\treturn each * n", "new_string": "func Total(each, n, discount int) int {\n\treturn each*n - discount"}
	if err := call("It changes a signature. The caller in the other package breaks: the answer says so.", "Edit", breaking, false); err != nil {
		return err
	}
	if err := call("It reads the file that the report names.", "Read", map[string]any{"file_path": cart}, false); err != nil {
		return err
	}
	p.other("Somebody else changes cart/cart.go meanwhile: 120 becomes 130.")
	b, err := os.ReadFile(cart)
	if err != nil {
		return err
	}
	if err := os.WriteFile(cart, []byte(strings.Replace(string(b), "120", "130", 1)), 0o644); err != nil {
		return err
	}
	if err := call("The agent's fix rests on text that is no longer there, so it is refused, with what changed.", "Edit",
		map[string]any{"file_path": cart, "old_string": "price.Total(120, 3)", "new_string": "price.Total(120, 3, 0)"}, true); err != nil {
		return err
	}
	return call("It has seen the change now and sends the edit again, adapted. The answer says what that resolved.", "Edit",
		map[string]any{"file_path": cart, "old_string": "price.Total(130, 3)", "new_string": "price.Total(130, 3, 0)"}, false)
}

// A printer shows the demo, with colours on a terminal.
type printer struct {
	out    streams
	colour bool
}

func (p *printer) style(code, text string) string {
	if !p.colour {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (p *printer) title(format string, args ...any) {
	fmt.Fprintf(p.out.out, "\n%s\n", p.style("1", fmt.Sprintf(format, args...)))
}

func (p *printer) progress(line string) {
	fmt.Fprintln(p.out.out, p.style("2", "… "+line))
}

func (p *printer) call(why, tool, args string) {
	fmt.Fprintf(p.out.out, "\n%s\n%s %s\n", p.style("1", why), p.style("36", tool), p.style("36", args))
}

func (p *printer) other(what string) {
	fmt.Fprintf(p.out.out, "\n%s\n", p.style("35", what))
}

// answer shows a tool's text, indented, errors and hunks in their colours.
func (p *printer) answer(text string, failed bool) {
	for line := range strings.SplitSeq(text, "\n") {
		code := "0"
		switch {
		case failed && strings.HasPrefix(line, "["), strings.Contains(line, " error "):
			code = "31"
		case len(line) > 7 && line[7] == '-':
			code = "31"
		case len(line) > 7 && line[7] == '+', strings.HasPrefix(line, "Resolved"), strings.HasPrefix(line, "Diagnostics: clean"):
			code = "32"
		}
		fmt.Fprintln(p.out.out, "  "+p.style(code, line))
	}
}

// prepare finds or builds gopls before the story begins, so that its first
// answer is not "installing".
func (p *printer) prepare(ctx context.Context, e *engine) error {
	t, err := e.tools.Ensure(ctx, "gopls")
	if err != nil {
		return fmt.Errorf("gopls, the Go language server, can't be had: %w", err)
	}
	p.progress("gopls " + t.Version + " from " + t.From)
	return nil
}

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
