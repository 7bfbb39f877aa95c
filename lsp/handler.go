package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"coedit/internal/glob"
	"coedit/internal/wire"

	"go.lsp.dev/protocol"
)

// capabilities is what of a server's initialize answer matters here.
type capabilities struct {
	encoding    wire.Encoding
	incremental bool
	save        bool // didSave is wanted
	pull        bool
	interFile   bool // a change of one file can change another's pulled diagnostics
	symbols     bool // documentSymbol can be asked, as a barrier
	name        string
	version     string
}

func (sv *server) initialize(ctx context.Context, conn *wire.Conn) (capabilities, error) {
	ctx, cancel := context.WithTimeout(ctx, initializeWait)
	defer cancel()
	root := wire.FileURI(sv.root)
	params := map[string]any{
		"processId":             os.Getpid(),
		"clientInfo":            map[string]any{"name": "coedit"},
		"rootUri":               root,
		"rootPath":              sv.root,
		"workspaceFolders":      []any{map[string]any{"uri": root, "name": "root"}},
		"capabilities":          clientCapabilities,
		"initializationOptions": sv.prof.InitializationOptions,
	}
	b, err := json.Marshal(params)
	if err != nil {
		return capabilities{}, fmt.Errorf("initialize: %w", err)
	}
	var answer wire.Raw
	if err := conn.Call(ctx, "initialize", wire.Raw(b), &answer); err != nil {
		return capabilities{}, err
	}
	return readCapabilities(answer)
}

// clientCapabilities is what coedit tells servers it can do. Servers send
// some things only to clients that name them.
var clientCapabilities = json.RawMessage(`{
 "general":{"positionEncodings":["utf-8","utf-16","utf-32"]},
 "window":{"workDoneProgress":true},
 "workspace":{
  "applyEdit":true,"configuration":true,"workspaceFolders":true,
  "didChangeConfiguration":{"dynamicRegistration":true},
  "didChangeWatchedFiles":{"dynamicRegistration":true,"relativePatternSupport":true},
  "diagnostics":{"refreshSupport":true}
 },
 "textDocument":{
  "synchronization":{"dynamicRegistration":true,"didSave":true},
  "publishDiagnostics":{"versionSupport":true,"relatedInformation":true,"tagSupport":{"valueSet":[1,2]},"codeDescriptionSupport":true},
  "diagnostic":{"dynamicRegistration":true,"relatedDocumentSupport":true},
  "documentSymbol":{"hierarchicalDocumentSymbolSupport":true}
 }
}`)

// readCapabilities takes what it needs from the answer and lets nothing else
// in it matter, so that no novelty of a server can stop it from being used.
func readCapabilities(answer []byte) (capabilities, error) {
	var r struct {
		Capabilities struct {
			PositionEncoding       json.RawMessage
			TextDocumentSync       json.RawMessage
			DiagnosticProvider     json.RawMessage
			DocumentSymbolProvider json.RawMessage
		}
		ServerInfo json.RawMessage
	}
	if err := json.Unmarshal(answer, &r); err != nil {
		return capabilities{}, fmt.Errorf("initialize: %w", err)
	}
	c := capabilities{encoding: wire.UTF16}
	var enc wire.Encoding
	if json.Unmarshal(r.Capabilities.PositionEncoding, &enc) == nil && (enc == wire.UTF8 || enc == wire.UTF32) {
		c.encoding = enc
	}
	var sync struct {
		Change int
		Save   json.RawMessage
	}
	if json.Unmarshal(r.Capabilities.TextDocumentSync, &sync.Change) == nil {
		c.save = true
	} else if json.Unmarshal(r.Capabilities.TextDocumentSync, &sync) == nil {
		c.save = offered(sync.Save)
	}
	c.incremental = sync.Change == 2
	c.pull = offered(r.Capabilities.DiagnosticProvider)
	var pull struct{ InterFileDependencies bool }
	if json.Unmarshal(r.Capabilities.DiagnosticProvider, &pull) == nil {
		c.interFile = pull.InterFileDependencies
	}
	c.symbols = offered(r.Capabilities.DocumentSymbolProvider)
	var info struct{ Name, Version string }
	if json.Unmarshal(r.ServerInfo, &info) == nil {
		c.name, c.version = cut(info.Name, 100), cut(info.Version, 100)
	}
	return c, nil
}

// offered reports whether an option is there: true, or an object.
func offered(v json.RawMessage) bool {
	return len(v) > 0 && string(v) != "null" && string(v) != "false"
}

// notified handles what a server tells, in order.
func (sv *server) notified(method string, params wire.Raw) {
	switch method {
	case "textDocument/publishDiagnostics":
		var p protocol.PublishDiagnosticsParams
		if err := wire.Unmarshal(params, &p); err != nil {
			sv.log.Warn("publication dropped", "err", err)
			return
		}
		name, ok := wire.FileName(p.URI)
		if !ok {
			return
		}
		version, has := p.Version.Get()
		sv.published(name, version, has, rawOf(p.Diagnostics))
	case "$/progress":
		var p struct {
			Token json.RawMessage
			Value struct{ Kind, Title string }
		}
		if json.Unmarshal(params, &p) != nil {
			return
		}
		sv.mu.Lock()
		defer sv.mu.Unlock()
		if p.Value.Kind == "begin" && len(sv.mach.running)+len(sv.mach.loading) >= 1000 {
			return
		}
		sv.timedOut = sv.timedOut && p.Value.Kind != "end"
		sv.mach.progress(time.Now(), string(p.Token), p.Value.Kind, p.Value.Title)
		sv.touch()
	case "window/logMessage", "window/showMessage":
		sv.log.Debug("server says", "text", cut(string(params), maxMessage))
	}
}

func (sv *server) published(name string, version int32, has bool, list []raw) {
	sv.mu.Lock()
	defer sv.mu.Unlock()
	sv.timedOut = false
	d := sv.mach.docs[name]
	if stale := has && version != 0 && d != nil && version < d.version; !stale {
		sv.store.set(sv.store.push, name, list)
	}
	sv.mach.published(time.Now(), name, version, has)
	sv.touch()
}

// requested answers what a server asks. Registrations, progress and refreshes
// succeed at once, because servers wait for them or end when refused; edits
// are refused, because a server has no say over files.
func (sv *server) requested(ctx context.Context, method string, params wire.Raw) (any, error) {
	switch method {
	case "window/workDoneProgress/create":
		return nil, nil
	case "client/registerCapability":
		sv.register(params)
		return nil, nil
	case "client/unregisterCapability":
		sv.unregister(params)
		return nil, nil
	case "workspace/configuration":
		return sv.configuration(params), nil
	case "workspace/workspaceFolders":
		return sv.folders(), nil
	case "workspace/diagnostic/refresh":
		sv.refresh(time.Now())
		return nil, nil
	case "workspace/semanticTokens/refresh", "workspace/inlayHint/refresh", "workspace/codeLens/refresh",
		"workspace/inlineValue/refresh", "workspace/foldingRange/refresh", "window/showMessageRequest":
		return nil, nil
	case "window/showDocument":
		return wire.Raw(`{"success":false}`), nil
	case "workspace/applyEdit":
		return wire.Raw(`{"applied":false,"failureReason":"coedit takes no edits from servers"}`), nil
	}
	return nil, wire.MethodNotFound(method)
}

// refresh makes all pulled diagnostics out of date. Servers that ask for it
// after each pull are not followed in circles.
func (sv *server) refresh(now time.Time) {
	sv.mu.Lock()
	defer sv.mu.Unlock()
	if now.Sub(sv.refreshed) < time.Second {
		return
	}
	sv.refreshed = now
	for _, d := range sv.mach.docs {
		d.pulled = 0
	}
	sv.touch()
}

func (sv *server) folders() wire.Raw {
	b, err := json.Marshal([]map[string]any{{"uri": wire.FileURI(sv.root), "name": "root"}})
	if err != nil {
		return nil
	}
	return b
}

func (sv *server) configuration(params wire.Raw) wire.Raw {
	var p struct {
		Items []struct{ Section string }
	}
	if json.Unmarshal(params, &p) != nil {
		return wire.Raw("[]")
	}
	out := make([]any, len(p.Items))
	for i, item := range p.Items {
		out[i] = sv.prof.Settings[item.Section]
	}
	b, err := json.Marshal(out)
	if err != nil {
		return wire.Raw("[]")
	}
	return b
}

// watcher is one registered pattern.
type watcher struct{ matches func(name string) bool }

func (sv *server) register(params wire.Raw) {
	var p struct {
		Registrations []struct {
			ID, Method      string
			RegisterOptions json.RawMessage
		}
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	sv.mu.Lock()
	defer sv.mu.Unlock()
	for _, r := range p.Registrations {
		switch r.Method {
		case methodWatched:
			if len(sv.watchers) < 1000 {
				sv.watchers[r.ID] = sv.readWatchers(r.RegisterOptions)
			}
		case "textDocument/diagnostic":
			sv.caps.pull, sv.mach.cfg.pull = true, true
			var o struct{ InterFileDependencies bool }
			if json.Unmarshal(r.RegisterOptions, &o) == nil {
				sv.caps.interFile = o.InterFileDependencies
			}
		}
	}
	sv.touch()
}

func (sv *server) unregister(params wire.Raw) {
	var p struct {
		// the protocol's own spelling
		Unregisterations []struct{ ID string } `json:"unregisterations"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	sv.mu.Lock()
	defer sv.mu.Unlock()
	for _, r := range p.Unregisterations {
		delete(sv.watchers, r.ID)
	}
}

func (sv *server) readWatchers(options []byte) []watcher {
	var o struct {
		Watchers []struct{ GlobPattern json.RawMessage }
	}
	if json.Unmarshal(options, &o) != nil {
		return nil
	}
	var out []watcher
	for _, w := range o.Watchers[:min(len(o.Watchers), 1000)] {
		base, pattern := sv.root, ""
		if json.Unmarshal(w.GlobPattern, &pattern) != nil {
			var relative struct {
				BaseURI json.RawMessage
				Pattern string
			}
			if json.Unmarshal(w.GlobPattern, &relative) != nil {
				continue
			}
			pattern = relative.Pattern
			var uri string
			var folder struct{ URI string }
			if json.Unmarshal(relative.BaseURI, &uri) != nil && json.Unmarshal(relative.BaseURI, &folder) == nil {
				uri = folder.URI
			}
			name, ok := wire.FileName(uri)
			if !ok {
				continue
			}
			base = name
		}
		match, err := glob.LSPFile(base, pattern)
		if err != nil {
			sv.log.Warn("pattern of a server not understood", "pattern", cut(pattern, 200), "err", err)
			continue
		}
		out = append(out, watcher{match})
	}
	return slices.Clip(out)
}

// watches reports whether the server wants to hear of changes of the file
// called name. mu is held.
func (sv *server) watches(name string) bool {
	if len(sv.watchers) == 0 {
		return sv.prof.Watches(name)
	}
	for _, list := range sv.watchers {
		for _, w := range list {
			if w.matches(name) {
				return true
			}
		}
	}
	return false
}
