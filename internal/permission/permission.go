// Package permission decides what an agent may look at, do and run. It has no
// effects.
package permission

import (
	"path"
	"strings"

	"coedit/document"
	"coedit/edits"
)

// A Mode is how a session starts out.
type Mode string

// The modes, in the words of the tool contract.
const (
	Default           Mode = "default"           // protected paths are asked
	AcceptEdits       Mode = "acceptEdits"       // as Default, for edits that would be asked by a rule
	Plan              Mode = "plan"              // nothing is changed
	BypassPermissions Mode = "bypassPermissions" // nothing is asked; roots and .git internals hold
)

// ParseMode returns the mode called name; "" is Default.
func ParseMode(name string) (Mode, bool) {
	switch m := Mode(name); m {
	case "":
		return Default, true
	case Default, AcceptEdits, Plan, BypassPermissions:
		return m, true
	}
	return "", false
}

// A Decision is what the rules say. The zero value denies.
type Decision uint8

// The decisions, the strictest first.
const (
	Deny Decision = iota
	Ask
	Allow
)

func (d Decision) String() string { return [...]string{"deny", "ask", "allow"}[d] }

// A Verdict is a Decision with the path and the rule that made it.
type Verdict struct {
	Decision Decision
	Path     document.Path
	Why      string // the rule, for people and agents
	Notice   string // what to tell beside an Allow, "" for nothing
}

// Rules decide for one session. The zero value is the default mode.
type Rules struct {
	Mode Mode
	// Private are absolute directories whose text never leaves and that no
	// agent changes: coedit's own folders, when they lie in a root.
	Private []string
}

// Look decides whether the text of all paths may leave.
func (r Rules) Look(paths ...document.Path) Verdict {
	for _, p := range paths {
		if r.private(p) {
			return Verdict{Deny, p, "coedit's own folder", ""}
		}
	}
	return Verdict{Decision: Allow}
}

// Do decides whether the plan may be carried out: the strictest decision over
// its changes, by what each does.
func (r Rules) Do(p edits.Plan) Verdict {
	out := Verdict{Decision: Allow}
	for _, q := range p.Paths() {
		if v := r.change(q); v.Decision < out.Decision || out.Notice == "" && v.Notice != "" {
			v.Decision = min(v.Decision, out.Decision)
			out = v
		}
	}
	return out
}

func (r Rules) private(p document.Path) bool {
	for _, dir := range r.Private {
		if rel, ok := strings.CutPrefix(p.Name(), dir); ok && (rel == "" || rel[0] == '/' || rel[0] == '\\') {
			return true
		}
	}
	return false
}

func (r Rules) change(p document.Path) Verdict {
	if r.private(p) {
		return Verdict{Deny, p, "coedit's own folder", ""}
	}
	if gitInternals(p.Rel()) {
		return Verdict{Deny, p, "git's own files: use git commands", ""}
	}
	switch r.Mode {
	case Plan:
		return Verdict{Deny, p, "plan mode: nothing is changed", ""}
	case BypassPermissions:
		return Verdict{Allow, p, "bypassPermissions", ""}
	}
	if why := protected(p.Rel()); why != "" {
		return Verdict{Ask, p, why, ""}
	}
	if secretFile(path.Base(fold(p.Rel()))) {
		return Verdict{Allow, p, "", "this file usually holds credentials"}
	}
	return Verdict{Allow, p, "", ""}
}

// fold makes names comparable as the most permissive file system compares
// them.
func fold(rel string) string { return strings.ToLower(rel) }

// gitInternals reports whether rel lies in a repository's own folder, at any
// depth (submodules and nested repositories too).
func gitInternals(rel string) bool {
	for part := range strings.SplitSeq(fold(rel), "/") {
		if part == ".git" {
			return true
		}
	}
	return false
}

// The files that run later, outside (rule T9 of the security notes), and the
// settings and instructions of agents.
var (
	protectedNames = map[string]string{
		".gitattributes": "git runs what it names", ".gitmodules": "git runs what it names", ".gitconfig": "git runs what it names",
		".envrc": "a shell runs it", ".mcp.json": "an agent's settings", ".npmrc": "it names where packages come from",
		".pnpmfile.cjs": "a package manager runs it", ".pre-commit-config.yaml": "git runs what it names",
		".bashrc": "a shell runs it", ".bash_profile": "a shell runs it", ".bash_login": "a shell runs it", ".bash_logout": "a shell runs it",
		".profile": "a shell runs it", ".zshrc": "a shell runs it", ".zprofile": "a shell runs it", ".zshenv": "a shell runs it", ".zlogin": "a shell runs it",
		"claude.md": "an agent's instructions", "agents.md": "an agent's instructions", "gemini.md": "an agent's instructions",
		".cursorrules": "an agent's instructions", ".windsurfrules": "an agent's instructions", ".netrc": "credentials",
	}
	protectedFolders = map[string]string{
		".husky": "git runs its files", ".idea": "an editor runs what it names", ".cargo": "cargo runs what it names", ".mvn": "maven runs what it names",
		".devcontainer": "an editor runs what it names", ".coedit": "coedit's settings", ".claude": "an agent's settings", ".cursor": "an agent's settings",
		".codex": "an agent's settings", ".gemini": "an agent's settings", ".ssh": "credentials", ".gnupg": "credentials", ".aws": "credentials",
	}
	protectedPrefixes = map[string]string{".yarnrc": "a package manager runs what it names", "rust-toolchain": "cargo runs what it names"}
	protectedTails    = map[string]string{
		".vscode/tasks.json": "an editor runs it", ".vscode/launch.json": "an editor runs it", ".vscode/settings.json": "an editor's settings",
		".github/copilot-instructions.md": "an agent's instructions",
	}
)

// protected returns why changing rel is asked, "" when it is not.
func protected(rel string) string {
	rel = fold(rel)
	base := path.Base(rel)
	if why := protectedNames[base]; why != "" {
		return base + ": " + why
	}
	for prefix, why := range protectedPrefixes {
		if strings.HasPrefix(base, prefix) {
			return base + ": " + why
		}
	}
	parts := strings.Split(rel, "/")
	for i, part := range parts[:len(parts)-1] {
		if why := protectedFolders[part]; why != "" {
			return part + "/: " + why
		}
		if i+1 < len(parts)-1 && (part == ".github" && parts[i+1] == "workflows" || part == "gradle" && parts[i+1] == "wrapper") {
			return part + "/" + parts[i+1] + "/: a build runs it"
		}
	}
	for tail, why := range protectedTails {
		if rel == tail || strings.HasSuffix(rel, "/"+tail) {
			return tail + ": " + why
		}
	}
	return ""
}

// secretFile reports whether a folded base name is one that usually holds
// credentials.
func secretFile(base string) bool {
	switch {
	case base == ".env.example" || base == ".env.sample" || base == ".env.template":
		return false
	case base == ".env" || strings.HasPrefix(base, ".env."):
		return true
	case base == "credentials" || base == "id_rsa" || base == "id_ed25519" || base == "id_ecdsa":
		return true
	}
	switch path.Ext(base) {
	case ".pem", ".key", ".p12", ".pfx", ".kdbx":
		return true
	}
	return false
}
