package settings

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// maxEditorconfig bounds an .editorconfig file in bytes; a larger one is
// passed over. maxSections bounds the sections of one file that are heeded,
// maxCached the files whose sections are kept.
const (
	maxEditorconfig = 64 << 10
	maxSections     = 1000
	maxCached       = 256
)

// Charset is Charsets.Of without anything kept.
func Charset(root, rel string) string { return new(Charsets).Of(root, rel) }

// Charsets looks up the charsets of files and keeps what .editorconfig files
// say while their time and size stay: it is asked at every read. The zero
// value is ready; it is safe for concurrent use.
type Charsets struct {
	mu    sync.Mutex
	files map[string]parsed
}

// Of returns the charset that the .editorconfig files from the file's folder
// up to root give the file rel, in lower case; "" for none. A nearer file
// wins, and in one file a later section; root = true ends the search. Files
// that are not regular, or are larger than 64 KiB, are passed over. Source:
// the EditorConfig specification, version 0.17.
func (c *Charsets) Of(root, rel string) string {
	if !filepath.IsLocal(rel) {
		return ""
	}
	rel = path.Clean(filepath.ToSlash(rel))
	dir := path.Dir(rel)
	for {
		sections, last := c.load(filepath.Join(root, filepath.FromSlash(dir), ".editorconfig"))
		below := rel
		if dir != "." {
			below = strings.TrimPrefix(rel, dir+"/")
		}
		for _, s := range slices.Backward(sections) {
			if !s.glob.match(below) {
				continue
			}
			if s.charset == "unset" {
				return ""
			}
			return s.charset
		}
		if last || dir == "." {
			return ""
		}
		dir = path.Dir(dir)
	}
}

// A section is one that sets a charset.
type section struct {
	glob    *sectionGlob
	charset string
}

// A parsed is what one file said when it had this time and size.
type parsed struct {
	at       time.Time
	size     int64
	sections []section
	last     bool
}

func (c *Charsets) load(name string) (sections []section, last bool) {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxEditorconfig {
		return nil, false
	}
	c.mu.Lock()
	was, ok := c.files[name]
	c.mu.Unlock()
	if ok && was.at.Equal(info.ModTime()) && was.size == info.Size() {
		return was.sections, was.last
	}
	b, err := readRegular(name, maxEditorconfig)
	if err != nil {
		return nil, false
	}
	p := parsed{at: info.ModTime(), size: info.Size()}
	p.sections, p.last = parseEditorconfig(string(b))
	// a file written within the clock's grain may change again unseen
	if time.Since(p.at).Abs() > 2*time.Second {
		c.mu.Lock()
		if c.files == nil || len(c.files) >= maxCached {
			c.files = map[string]parsed{}
		}
		c.files[name] = p
		c.mu.Unlock()
	}
	return p.sections, p.last
}

// parseEditorconfig returns the sections that set a charset, and whether the
// file is the last to look at.
func parseEditorconfig(text string) (sections []section, last bool) {
	var glob *sectionGlob
	preamble, seen := true, 0
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
			continue
		case line[0] == '[' && strings.HasSuffix(line, "]"):
			preamble, glob = false, nil
			if seen++; seen <= maxSections {
				glob = compileSection(line[1 : len(line)-1])
			}
			continue
		}
		key, v, ok := strings.Cut(line, "=")
		if !ok {
			continue
		}
		key, v = strings.ToLower(strings.TrimSpace(key)), strings.ToLower(strings.TrimSpace(v))
		switch {
		case preamble && key == "root":
			last = v == "true"
		case glob != nil && key == "charset" && v != "":
			sections = append(sections, section{glob, v})
		}
	}
	return sections, last
}
