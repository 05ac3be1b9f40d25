package exchange

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"

	"svc.dev/svc/model"
)

// Picture is an image in a request's body, in base64 behind a prefix. It is encoded while it is sent: a body never holds a copy
// of it.
type Picture struct {
	Prefix string
	Image  *model.Image
}

// mark stands in a body where a picture's bytes come, before the picture's name and a dot. Nobody can guess it.
var mark = rand.Text()

func (p Picture) name() string { return fmt.Sprintf("%p", p.Image) }

// MarshalJSON leaves a mark.
func (p Picture) MarshalJSON() ([]byte, error) { return json.Marshal(p.Prefix + mark + p.name() + ".") }

// body is a request's body: texts, and between them pictures.
type body []piece

type piece struct{ text, picture []byte }

// bodyOf encodes a value, which may hold pictures of the messages.
func bodyOf(v any, messages []model.Message) (body, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	pictures := picturesOf(messages)
	var all body
	for {
		before, behind, found := bytes.Cut(text, []byte(mark))
		all = append(all, piece{text: before})
		if !found {
			return all, nil
		}
		name, rest, _ := bytes.Cut(behind, []byte("."))
		data, ok := pictures[string(name)]
		if !ok {
			return nil, fmt.Errorf("a picture that no message holds")
		}
		all, text = append(all, piece{picture: data}), rest
	}
}

func picturesOf(messages []model.Message) map[string][]byte {
	pictures := map[string][]byte{}
	add := func(i *model.Image) { pictures[Picture{Image: i}.name()] = i.Data }
	for _, m := range messages {
		for _, p := range m.Parts {
			if p.Image != nil {
				add(p.Image)
			}
			if p.Result != nil {
				for _, i := range ImagesOf(p.Result) {
					add(i)
				}
			}
		}
	}
	return pictures
}

func (b body) size() (n int64) {
	for _, p := range b {
		n += int64(len(p.text) + base64.StdEncoding.EncodedLen(len(p.picture)))
	}
	return n
}

// open reads the body from its beginning.
func (b body) open() (io.ReadCloser, error) {
	readers := make([]io.Reader, 0, 2*len(b))
	for _, p := range b {
		readers = append(readers, bytes.NewReader(p.text), &encoder{data: p.picture})
	}
	return io.NopCloser(io.MultiReader(readers...)), nil
}

// encoder reads data in base64.
type encoder struct {
	data []byte
	left []byte // encoded and not read
	room [4096]byte
}

func (e *encoder) Read(p []byte) (int, error) {
	if len(e.left) == 0 {
		if len(e.data) == 0 {
			return 0, io.EOF
		}
		n := min(len(e.data), len(e.room)/4*3) // threes, but for the last
		e.left = base64.StdEncoding.AppendEncode(e.room[:0], e.data[:n])
		e.data = e.data[n:]
	}
	n := copy(p, e.left)
	e.left = e.left[n:]
	return n, nil
}
