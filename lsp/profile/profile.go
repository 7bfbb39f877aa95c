// Package profile is what is known about each language server, as data.
package profile

import (
	"path"
	"path/filepath"
	"strings"
)

// What starting a server may run of the project's own code.
const (
	RunsNone    = "none"    // nothing
	RunsConfig  = "config"  // configuration files that are programs
	RunsBuild   = "build"   // build scripts
	RunsPlugins = "plugins" // plugins that the project names
)

// What a server pushes beside pulled diagnostics.
const (
	PushUnknown = ""     // not known: settle after a pull too
	PushNone    = "none" // a pull is complete
	PushAlso    = "also" // some diagnostics are only pushed
	PushOnly    = "only" // the server has no pull
)

// A Profile describes one server. A root is restricted until a person trusts
// it; in a restricted one only servers that run nothing are started.
type Profile struct {
	Name        string
	Files       []string          // patterns of the base names it serves: "*.go", "go.mod"
	LanguageIDs map[string]string // base name or extension with its dot → languageId
	RootMarkers []string          // base names that mark a project's top folder
	Command     []string          // program and arguments
	Runs        string            // RunsNone, RunsConfig, RunsBuild or RunsPlugins
	RunsWhy     string            // why Runs is what it says

	Env        map[string]string // set for the server in a restricted root
	TrustedEnv map[string]string // set instead in a trusted root
	PassEnv    []string          // variables passed on in both, besides the system's usual ones
	TrustedVar []string          // variables passed on in a trusted root only

	InitializationOptions map[string]any
	Settings              map[string]any // answers to workspace/configuration, by section

	Push         string // PushUnknown, PushNone, PushAlso or PushOnly
	VersionFinal bool   // one publication a version is all there is of it

	// Rounds tells which work-done progress begins after a notification of
	// ours (the key is its method) and ends when its diagnostics are out.
	Rounds        map[string]string
	ProgressTitle string   // begins the titles of all rounds; "" for none
	SecondRound   bool     // a file of no loaded package is only diagnosed in the round after the one that opens it
	Lost          []string // parts of messages that mean: the server has lost its view of the project and must be told of its folder anew
	LoadingTitles []string // progress titles, or parts of them, that mean: not loaded yet
	Body          []string // how lines begin that no import stands below; nil: imports may stand anywhere
	Embeds        string   // text in a served file that makes others beside and below it part of its package, which the server is not told of
	NoSave        []string // patterns of base names for which didSave changes nothing

	Skip         []string // patterns of names below the root: what is in such a folder it does not check
	Commands     []string // workspace/executeCommand names that may be used
	WatchedFiles []string // patterns of changed files that it wants to hear of before it registers its own
}

// Gopls is the profile of the Go language server, checked with v0.23.0. Its
// rounds are reported because of the internal option verboseWorkDoneProgress;
// without them versions and a barrier take their place.
func Gopls() Profile {
	options := map[string]any{"diagnosticsDelay": "0s", "verboseWorkDoneProgress": true}
	return Profile{
		Name:        "gopls",
		Files:       []string{"*.go", "go.mod", "go.work", "go.sum"},
		LanguageIDs: map[string]string{".go": "go", "go.mod": "go.mod", "go.work": "go.work", "go.sum": "go.sum"},
		RootMarkers: []string{"go.work", "go.mod"},
		Command:     []string{"gopls"},
		Runs:        RunsNone,
		RunsWhy: "with GOTOOLCHAIN=local, GOPACKAGESDRIVER=off, GOFLAGS without effect and no project folder on PATH " +
			"go list runs no program of the project",
		// An empty GOFLAGS would let that of `go env -w` through; this one is
		// the go command's own default.
		Env:        map[string]string{"GOTOOLCHAIN": "local", "GOPACKAGESDRIVER": "off", "GOFLAGS": "-buildvcs=auto"},
		TrustedEnv: map[string]string{},
		PassEnv: []string{"GOPATH", "GOROOT", "GOCACHE", "GOMODCACHE", "GOENV", "GOPROXY", "GOPRIVATE", "GONOPROXY",
			"GONOSUMDB", "GOSUMDB", "GOINSECURE", "GOOS", "GOARCH", "GOWORK", "GO111MODULE", "GOEXPERIMENT", "CGO_ENABLED",
			"CC", "CXX", "GOTMPDIR", "GOTELEMETRY"},
		TrustedVar:            []string{"GOFLAGS", "GOPACKAGESDRIVER", "GOTOOLCHAIN"},
		InitializationOptions: options,
		Settings:              map[string]any{"gopls": options},
		Push:                  PushOnly,
		ProgressTitle:         "diagnosing ",
		Rounds: map[string]string{
			"initialized":                         "diagnosing initial workspace load",
			"textDocument/didOpen":                "diagnosing opened files",
			"textDocument/didChange":              "diagnosing changed files",
			"textDocument/didSave":                "diagnosing saved files",
			"textDocument/didClose":               "diagnosing close files",
			"workspace/didChangeWatchedFiles":     "diagnosing files changed on disk",
			"workspace/didChangeWorkspaceFolders": "diagnosing initial workspace load",
		},
		NoSave:      []string{"*.go"}, // it reads them from didChange; a second round would undo the first
		SecondRound: true,             // v0.23.0 publishes an empty list for it and nothing more until the next notification
		// v0.23.0 keeps these for packages that import one whose folder was
		// moved away and back; neither its files nor go.mod told again help.
		Lost:          []string{"missing metadata for import of ", "(missing import "},
		Body:          []string{"func ", "type ", "var ", "const "},
		Embeds:        "//go:embed",
		LoadingTitles: []string{"Setting up workspace"},
		Skip:          []string{"testdata", "_*", ".*"}, // the go command passes them over, and v0.23.0 is silent on them
		WatchedFiles:  []string{"*.go", "go.mod", "go.sum", "go.work"},
	}
}

// Custom is the profile of a server that a user's own settings name: command
// and arguments, and the patterns of the base names it serves. What it runs
// is what the user chose, so it starts in restricted roots too; how it reports
// is not known.
func Custom(name string, command, args, files []string, init any) Profile {
	p := Profile{
		Name: name, Files: files, Command: append(append([]string{}, command...), args...),
		Runs: RunsNone, RunsWhy: "the user's own settings name this command",
		LoadingTitles: []string{"ndexing", "oading"}, WatchedFiles: files,
	}
	if m, ok := init.(map[string]any); ok {
		p.InitializationOptions = m
	}
	return p
}

// Serves reports whether the server wants the file called name open.
func (p Profile) Serves(name string) bool { return MatchBase(p.Files, name) }

// Skips reports whether the server is silent on the file called rel, a name
// below its root with slashes. An empty list for such a file proves nothing.
func (p Profile) Skips(rel string) bool {
	for part := range strings.SplitSeq(rel, "/") {
		if MatchBase(p.Skip, part) {
			return true
		}
	}
	return false
}

// Header returns the part of text that holds its imports.
func (p Profile) Header(text string) string {
	if len(p.Body) == 0 {
		return text
	}
	for at := 0; at < len(text); {
		for _, b := range p.Body {
			if strings.HasPrefix(text[at:], b) {
				return strings.TrimSpace(text[:at])
			}
		}
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			break
		}
		at += i + 1
	}
	return strings.TrimSpace(text)
}

// MatchBase reports whether the base name of name matches one of patterns.
func MatchBase(patterns []string, name string) bool {
	base := filepath.Base(name)
	for _, pattern := range patterns {
		if ok, err := path.Match(pattern, base); err == nil && ok {
			return true
		}
	}
	return false
}

// LanguageID returns the languageId of the file called name.
func (p Profile) LanguageID(name string) string {
	base := filepath.Base(name)
	if id, ok := p.LanguageIDs[base]; ok {
		return id
	}
	ext := filepath.Ext(base)
	if id, ok := p.LanguageIDs[ext]; ok {
		return id
	}
	if ext == "" {
		return "plaintext"
	}
	return strings.TrimPrefix(ext, ".")
}

// Watches reports whether the server wants to hear of changes of the file
// called name, as long as it has not registered patterns of its own.
func (p Profile) Watches(name string) bool { return MatchBase(p.WatchedFiles, name) }
