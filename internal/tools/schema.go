package tools

import (
	"github.com/google/jsonschema-go/jsonschema"
)

// object is a closed object schema.
func object(required []string, properties map[string]*jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", Properties: properties, Required: required, AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}}
}

func str(description string) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Description: description}
}

func boolean(description string) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "boolean", Description: description}
}

func integer(description string, least float64) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "integer", Description: description, Minimum: &least}
}

func oneOf(description string, values ...string) *jsonschema.Schema {
	s := str(description)
	for _, v := range values {
		s.Enum = append(s.Enum, v)
	}
	return s
}

// The parameters that the editing tools share.
func withCommon(m map[string]*jsonschema.Schema, stale bool) map[string]*jsonschema.Schema {
	m["dry_run"] = boolean("Show what would change; change nothing.")
	m["diagnostics"] = oneOf("Whether to wait for what the edit broke or fixed (default wait).", "wait", "skip")
	if stale {
		m["on_stale"] = oneOf("When the file changed since you read it: refuse (default), or rebase if your place was left alone.", "refuse", "rebase")
	}
	return m
}

// open is an object schema for results: fields may be added.
func open(required []string, properties map[string]*jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", Properties: properties, Required: required}
}

func list(item *jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "array", Items: item}
}

func plain(kind string) *jsonschema.Schema { return &jsonschema.Schema{Type: kind} }

func outputOf(fields ...string) *jsonschema.Schema {
	kinds := map[string]*jsonschema.Schema{
		"text": plain("string"), "type": plain("string"), "filePath": plain("string"), "startLine": plain("integer"), "numLines": plain("integer"),
		"totalLines": {Types: []string{"integer", "null"}}, "encoding": plain("string"), "lineEndings": plain("string"), "source": plain("string"), "unsaved": plain("boolean"),
		"replacements": plain("integer"), "structuredPatch": list(plain("object")), "userModified": plain("boolean"), "appliedVia": plain("string"),
		"saved": plain("boolean"), "unseenLines": list(list(plain("integer"))), "diagnostics": plain("object"), "historyId": plain("string"),
		"externalChanges": list(plain("object")), "files": list(plain("object")), "items": list(plain("object")), "total": plain("integer"), "truncated": plain("boolean"),
		"freshness": plain("string"), "servers": list(plain("object")), "dryRun": plain("boolean"),
	}
	m := map[string]*jsonschema.Schema{"externalChanges": kinds["externalChanges"]}
	for _, f := range fields {
		m[f] = kinds[f]
	}
	return open([]string{"text"}, m)
}
