package lsp

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"coedit/document"
)

// process is a started language server: its standard streams as one
// connection, its group of processes to be ended together.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    io.ReadCloser
	stderr *tail
	exited chan struct{} // closed when the process has been waited for
	once   sync.Once
}

func startProcess(dir string, c Command, env []string) (*process, error) {
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Dir, cmd.Env = dir, env
	cmd.WaitDelay = time.Second // a grandchild may keep standard error open
	ownGroup(cmd)
	p := &process{cmd: cmd, stderr: &tail{}, exited: make(chan struct{})}
	cmd.Stderr = p.stderr
	var err error
	if p.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	// A pipe of our own: Wait must not close what is still being read.
	out, child, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.out, cmd.Stdout = out, child
	err = cmd.Start()
	child.Close()
	if err != nil {
		p.in.Close()
		out.Close()
		return nil, err
	}
	go func() {
		defer close(p.exited)
		cmd.Wait()
		killGroup(cmd) // what it leaves behind; at once, while its number can't have been given away
	}()
	return p, nil
}

func (p *process) Read(b []byte) (int, error)  { return p.out.Read(b) }
func (p *process) Write(b []byte) (int, error) { return p.in.Write(b) }

// Close closes the streams.
func (p *process) Close() error {
	p.in.Close()
	return p.out.Close()
}

// kill ends the process and all of its group, and waits for the process.
func (p *process) kill() {
	p.once.Do(func() {
		select {
		case <-p.exited:
		default:
			killGroup(p.cmd)
			<-p.exited
		}
	})
}

// lastWords ends the process, unless it does so itself at once, and returns
// what it last wrote to standard error, for a message.
func (p *process) lastWords() string {
	select {
	case <-p.exited:
	case <-time.After(200 * time.Millisecond):
		p.kill()
	}
	if s := strings.TrimSpace(p.stderr.String()); s != "" {
		return ": " + s
	}
	return ""
}

// tail keeps the last bytes written to it.
type tail struct {
	mu sync.Mutex
	b  []byte
}

const tailSize = 1 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, b[max(0, len(b)-tailSize):]...)
	t.b = slices.Clone(t.b[max(0, len(t.b)-tailSize):])
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(string(t.b), "?")
}

// usualEnv are the variables that any program needs to work.
var usualEnv = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TMP", "TEMP",
	"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
	"http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR",
	"SystemRoot", "SystemDrive", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "ProgramData", "ProgramFiles", "PATHEXT", "ComSpec"}

// environment is the child's: of what it is given (or this process has), the
// usual variables and those that the profile names, with what the profile
// sets. In a restricted root no folder of a root stays on PATH.
func (sv *server) environment(given []string) []string {
	if given == nil {
		given = os.Environ()
	}
	set := sv.prof.Env
	pass := append(slices.Clone(usualEnv), sv.prof.PassEnv...)
	if sv.trusted {
		set = sv.prof.TrustedEnv
		pass = append(pass, sv.prof.TrustedVar...)
	}
	var out []string
	for _, kv := range given {
		name, value, _ := strings.Cut(kv, "=")
		if _, ours := set[name]; ours || !(slices.Contains(pass, name) || strings.HasPrefix(name, "LC_")) {
			continue
		}
		if name == "PATH" && !sv.trusted {
			value = outsidePath(value, sv.opts.Roots)
		}
		out = append(out, name+"="+value)
	}
	for name, value := range set {
		out = append(out, name+"="+value)
	}
	return out
}

// outsidePath drops from a PATH what is relative or lies in a root.
func outsidePath(value string, roots []document.Root) string {
	var keep []string
	for _, dir := range filepath.SplitList(value) {
		if filepath.IsAbs(dir) && !inside(dir, roots) {
			keep = append(keep, dir)
		}
	}
	return strings.Join(keep, string(filepath.ListSeparator))
}

// inside reports whether name, or what it links to, lies in one of roots.
func inside(name string, roots []document.Root) bool {
	names := []string{filepath.Clean(name)}
	if real, err := filepath.EvalSymlinks(name); err == nil {
		names = append(names, real)
	}
	for _, root := range roots {
		for _, n := range names {
			rel, err := filepath.Rel(root.Dir(), n)
			if err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
				return true
			}
		}
	}
	return false
}
