// Command coedit sits between coding agents, the editors people type in, and
// language servers.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

// version is what `coedit version` says; a release sets it at build time.
var version = "0.1.0-dev"

// streams are what a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

type cli struct {
	Mcp     mcpCmd     `cmd:"" help:"Serve an agent over the Model Context Protocol on standard input and output."`
	Call    callCmd    `cmd:"" help:"Call a tool: coedit call Read '{\"file_path\": \"a.go\"}'. Without a tool, take one JSON object a line."`
	Demo    demoCmd    `cmd:"" help:"Show the main job on a small Go module in a temporary folder."`
	Doctor  doctorCmd  `cmd:"" help:"Tell what was found, what is missing, and how to fix it."`
	Clean   cleanCmd   `cmd:"" help:"Remove what coedit fetched and can fetch again."`
	Trust   trustCmd   `cmd:"" help:"Trust a folder: language servers may run the project's code and use your own settings there."`
	Version versionCmd `cmd:"" help:"Print the version."`
}

type versionCmd struct{}

// Run prints the version.
func (versionCmd) Run(s streams) error {
	_, err := fmt.Fprintln(s.out, "coedit", version)
	return err
}

func main() { os.Exit(run(os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr})) }

// run carries out one command line and returns the exit status.
func run(args []string, s streams) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var c cli
	exit := -1
	parser, err := kong.New(&c, kong.Name("coedit"), kong.Description("Agents, editors and language servers on the same text."),
		kong.UsageOnError(), kong.Writers(s.out, s.err), kong.Exit(func(code int) { exit = code }),
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(s))
	if err != nil {
		fmt.Fprintln(s.err, "coedit:", err)
		return 2
	}
	if len(args) > 0 && args[0] == "help" { // what people try first
		args = append(args[1:], "--help")
	}
	k, err := parser.Parse(args)
	if exit >= 0 {
		return exit
	}
	if err != nil {
		fmt.Fprintln(s.err, "coedit:", err)
		return 2
	}
	if err := k.Run(); err != nil {
		if err == errToolFailed {
			return 1
		}
		fmt.Fprintln(s.err, "coedit:", err)
		return 1
	}
	return 0
}
