package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
)

// codec encodes payloads as LSP does and decodes from a copy, because what
// protocol decodes may alias the bytes it was given.
type codec struct{}

func (codec) Marshal(v any) ([]byte, error) { return Marshal(v) }

func (codec) Unmarshal(b []byte, v any) error {
	if raw, ok := v.(*jsonrpc2.RawMessage); ok {
		*raw = slices.Clone(b)
		return nil
	}
	return Unmarshal(b, v)
}

// Marshal encodes params or a result; Raw is passed through, nil becomes null.
func Marshal(v any) ([]byte, error) {
	switch raw := v.(type) {
	case nil:
		return []byte("null"), nil
	case Raw:
		if raw == nil {
			return []byte("null"), nil
		}
		return raw, nil
	case json.RawMessage:
		return raw, nil
	}
	return protocol.Marshal(v)
}

// Unmarshal decodes what a peer sent into v, which owns all of it. The
// decoder is strict where servers are not; so when it fails, the JSON is
// normalised (nulls dropped, numbers clamped, missing kinds filled in) and
// decoded again.
func Unmarshal(b []byte, v any) error {
	if tooDeep(b) {
		return errors.New("JSON nested too deep")
	}
	if raw, ok := v.(*Raw); ok {
		*raw = slices.Clone(b)
		return nil
	}
	err := protocol.Unmarshal(slices.Clone(b), v)
	if err == nil {
		return nil
	}
	fixed, nerr := normalise(b)
	if nerr != nil {
		return err
	}
	if protocol.Unmarshal(fixed, v) != nil {
		return err
	}
	return nil
}

func normalise(b []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(clean("", v))
}

// clean returns v, the value of member key, in a form that the decoder takes.
func clean(key string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		if key == "code" {
			return cleanCode(v)
		}
		for k, e := range v {
			if e == nil {
				delete(v, k)
				continue
			}
			v[k] = clean(k, e)
		}
		_, items := v["items"]
		if kind, ok := v["kind"].(string); items && (kind == "" || !ok) {
			v["kind"] = "full"
		}
		return v
	case []any:
		out := v[:0]
		for _, e := range v {
			if e != nil {
				out = append(out, clean("", e))
			}
		}
		return out
	case json.Number:
		return cleanNumber(key, v)
	}
	return v
}

// cleanCode makes a diagnostic's code a string: some servers send the newer
// form {value, target} in its place.
func cleanCode(v map[string]any) any {
	if inner, ok := v["value"]; ok {
		return clean("code", inner)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}

func cleanNumber(key string, n json.Number) any {
	f, err := n.Float64()
	if err != nil {
		f = 0
	}
	if key == "code" && (f != math.Trunc(f) || math.Abs(f) > math.MaxInt32) {
		return n.String()
	}
	if (key == "line" || key == "character") && f < 0 {
		f = 0
	}
	f = math.Trunc(min(max(f, math.MinInt32), math.MaxInt32))
	return json.Number(strconv.FormatFloat(f, 'f', -1, 64))
}
