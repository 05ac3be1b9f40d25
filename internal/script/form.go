package script

import (
	"bytes"
	"encoding/json"
	"errors"
	"mime"
	"strings"
)

// field is one entry of a form.
type field struct {
	Name  string  `json:"name"`
	File  *string `json:"file,omitempty"`
	Type  string  `json:"type,omitempty"`
	Value string  `json:"value"` // text, or base64 of a file
}

var errForm = errors.New("the body is not a form of the boundary that its content type names")

// form reads a multipart body: content type and bytes.
func (c Call) form() (any, error) {
	data, err := c.Args.Bytes(1)
	if err != nil {
		return nil, err
	}
	fields, err := readForm(c.Args.String(0), data)
	if err != nil {
		return nil, &Thrown{Name: "TypeError", Message: "Failed to parse body as FormData: " + err.Error()}
	}
	out, err := json.Marshal(fields)
	return string(out), err
}

// readForm reads the parts of a multipart/form-data body as the web's standard says: names and file names as they stand, in UTF-8.
func readForm(contentType string, data []byte) ([]field, error) {
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return nil, err
	}
	boundary := params["boundary"]
	if boundary == "" {
		return nil, errors.New("the content type names no boundary")
	}
	fields := []field{}
	delimiter := []byte("--" + boundary)
	if !bytes.HasPrefix(data, delimiter) {
		return nil, errForm
	}
	data = data[len(delimiter):]
	for {
		if bytes.HasPrefix(data, []byte("--")) {
			return fields, nil
		}
		rest, ok := bytes.CutPrefix(data, []byte("\r\n"))
		if !ok {
			return nil, errForm
		}
		one, value, err := readPart(rest)
		if err != nil {
			return nil, err
		}
		body, after, ok := bytes.Cut(value, append([]byte("\r\n"), delimiter...))
		if !ok {
			return nil, errForm
		}
		if one.File != nil {
			one.Value = toBase64(body)
		} else {
			one.Value = decodeUTF8(body)
		}
		fields = append(fields, one)
		data = after
	}
}

// readPart reads the head of a part, and gives what comes after it.
func readPart(data []byte) (one field, rest []byte, err error) {
	named := false
	for {
		line, after, ok := bytes.Cut(data, []byte("\r\n"))
		if !ok {
			return one, nil, errForm
		}
		data = after
		if len(line) == 0 {
			break
		}
		name, value, ok := strings.Cut(decodeUTF8(line), ":")
		if !ok {
			return one, nil, errForm
		}
		switch value = strings.Trim(value, " \t"); strings.ToLower(strings.Trim(name, " \t")) {
		case "content-disposition":
			if named = one.disposition(value); !named {
				return one, nil, errForm
			}
		case "content-type":
			one.Type = value
		}
	}
	if !named {
		return one, nil, errForm
	}
	switch {
	case one.File == nil:
		one.Type = "" // text has none
	case one.Type == "":
		one.Type = "text/plain"
	}
	return one, data, nil
}

// disposition reads the name of a part, and that of its file, from where they stand in quotes.
func (f *field) disposition(value string) bool {
	rest, ok := strings.CutPrefix(value, "form-data")
	if !ok {
		return false
	}
	named := false
	for {
		rest = strings.TrimLeft(rest, " \t")
		if rest == "" {
			return named
		}
		if rest, ok = strings.CutPrefix(rest, ";"); !ok {
			return false
		}
		key, after, ok := strings.Cut(strings.TrimLeft(rest, " \t"), "=")
		if !ok {
			return false
		}
		text, left, ok := quoted(after)
		if !ok {
			return false
		}
		rest = left
		switch strings.ToLower(key) {
		case "name":
			f.Name, named = text, true
		case "filename":
			f.File = &text
		}
	}
}

// quoted reads a text in quotes, or up to the next semicolon. Line ends and quotes were escaped as the web does.
func quoted(s string) (text, rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		text, rest, found := strings.Cut(s, ";")
		if found {
			rest = ";" + rest
		}
		return text, rest, text != ""
	}
	text, rest, ok = strings.Cut(s[1:], `"`)
	return strings.NewReplacer("%0A", "\n", "%0D", "\r", "%22", `"`).Replace(text), rest, ok
}
