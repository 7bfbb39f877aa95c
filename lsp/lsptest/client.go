package lsptest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// A Client is one that does nothing but wait for one message: the least that
// anybody can wait, for benchmarks.
type Client struct {
	in io.Writer
	r  *bufio.Reader
}

// NewClient returns a client of the server with these standard streams.
func NewClient(in io.Writer, out io.Reader) *Client { return &Client{in, bufio.NewReader(out)} }

// Send sends one message.
func (c *Client) Send(m map[string]any) error {
	m["jsonrpc"] = "2.0"
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.in, "Content-Length: %d\r\n\r\n%s", len(b), b)
	return err
}

// Until answers requests until ok says that the message waited for is there.
func (c *Client) Until(ok func(method string, body []byte) bool) error {
	for {
		n := 0
		for {
			line, err := c.r.ReadString('\n')
			if err != nil {
				return err
			}
			if line = strings.TrimSpace(line); line == "" {
				break
			}
			if v, ok := strings.CutPrefix(line, "Content-Length: "); ok {
				if n, err = strconv.Atoi(v); err != nil {
					return err
				}
			}
		}
		body := make([]byte, n)
		if _, err := io.ReadFull(c.r, body); err != nil {
			return err
		}
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if err := json.Unmarshal(body, &m); err != nil {
			return err
		}
		if m.ID != nil && m.Method != "" {
			var result any
			if m.Method == "workspace/configuration" {
				result = []any{nil}
			}
			if err := c.Send(map[string]any{"id": m.ID, "result": result}); err != nil {
				return err
			}
		}
		if ok(m.Method, body) {
			return nil
		}
	}
}
