package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"coedit/internal/tools"
)

// TestToolsDoc holds docs/tools.md to the schemas; COEDIT_UPDATE=1 rewrites it.
func TestToolsDoc(t *testing.T) {
	set, err := tools.NewSet([]string{"all"}, tools.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	b.WriteString("# Tools\n\nWritten from the schemas by `COEDIT_UPDATE=1 go test ./cmd/coedit -run TestToolsDoc`.\n\n" + docsHead)
	for _, tool := range set.Tools() {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", tool.Name, tool.Description)
		j, err := json.Marshal(tool.Input)
		if err != nil {
			t.Fatal(err)
		}
		var in struct {
			Properties map[string]struct {
				Type, Description string
				Enum              []string
			}
			Required []string
		}
		if err := json.Unmarshal(j, &in); err != nil {
			t.Fatal(err)
		}
		b.WriteString("| parameter | type | needed | meaning |\n|---|---|---|---|\n")
		for _, name := range slices.Sorted(maps.Keys(in.Properties)) {
			p, need := in.Properties[name], ""
			for _, r := range in.Required {
				if r == name {
					need = "yes"
				}
			}
			kind := p.Type
			for i, e := range p.Enum {
				if i == 0 {
					kind = ""
				} else {
					kind += ", "
				}
				kind += "`" + e + "`"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", name, kind, need, p.Description)
		}
	}
	file := filepath.Join("..", "..", "docs", "tools.md")
	if os.Getenv("COEDIT_UPDATE") != "" {
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, b.Bytes()) {
		t.Error("docs/tools.md is not what the schemas say; run with COEDIT_UPDATE=1 and review the diff")
	}
}

const docsHead = `A result is text that is complete by itself; with ` + "`--result full`" + ` structured content stands beside it. An error begins with its code in brackets and says what to do next. Lines are counted from 1, columns are code points from 1. Paths in text are relative to the session's folder, in structured content absolute.

Every result can end with a block "Changed since you saw it": documents that were read and that others changed since, each told once.

Codes: ` + "`invalid_arguments` `outside_workspace` `not_found` `is_directory` `not_directory` `not_regular` `bad_path` `too_large` `binary` `unsupported_encoding` `not_read` `stale` `no_match` `ambiguous_match` `no_change` `already_exists` `use_notebook_edit` `permission_denied` `conflict` `read_only` `no_space` `io` `timeout` `cancelled` `settings_invalid`" + `.

The report of an edit says how far it can be relied on: ` + "`fresh`" + ` is proven; ` + "`settled`" + ` is quiet, not proven; ` + "`timeout`, `indexing`, `installing`, `unavailable`, `untrusted`, `unsupported`" + ` mean that nothing is known, and ` + "`skipped`" + ` that nobody asked.
`
