package httpapi_test

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestMegabytesOfAnImagePassAndOneByteMoreIsRefused(t *testing.T) {
	patience(t)
	s := newServer(t, settings{})
	const path, longest = "/agents/tooluser/image", 14 << 20
	image := func(size int) answer {
		body := `{"kind":"user","body":"","attachments":[{"type":"image","mimeType":"a\u0001b","data":"` + strings.Repeat("A", size) + `"}]}`
		return s.do(t, "POST", path, strings.NewReader(body), "Content-Type", jsonType)
	}
	refused := image(longest + 1)
	refused.wants(t, 400, "invalid_request")
	if !strings.Contains(refused.body, "Image data is longer than 14680064 characters.") {
		t.Errorf("answer %s", refused.body)
	}
	s.get(t, path).wants(t, 404, "stream_not_found")
	got := image(longest)
	if got.status != 202 {
		t.Fatalf("answer %d %s", got.status, got.body)
	}
	loaded := s.get(t, path+"/attachments/att_direct_"+decode[receipt](t, got.body).SubmissionID+"_0")
	if loaded.status != 200 || len(loaded.body) != longest/4*3 || loaded.header.Get("Content-Type") != "application/octet-stream" {
		t.Errorf("image %d, %d bytes, %v", loaded.status, len(loaded.body), loaded.header)
	}
	image(longest+1).wants(t, 400, "invalid_request")
	s.prompt(t, path, "x")
	s.settles(t, path, 2)
}

// TestOnlyImagesAreShownInTheirPlace sends what says that it is an image, and what says that it is something else.
func TestOnlyImagesAreShownInTheirPlace(t *testing.T) {
	s := newServer(t, settings{})
	const path = "/agents/tooluser/shown"
	types := map[string]string{
		"image/png": "inline", "image/jpeg": "inline", "image/gif": "inline", "image/webp": "inline", "image/avif": "inline", "Image/PNG": "inline", "image/png; x=y": "inline",
		"image/svg+xml": "attachment", "text/html": "attachment", "application/pdf": "attachment", "": "attachment", "image/*": "attachment", "image/png, text/html": "attachment",
		"image/png;": "inline", "text/html; image/png": "attachment", "application/xhtml+xml": "attachment", "x\ny": "attachment", "é": "attachment", "image/pngx": "attachment",
	}
	for sent, want := range types {
		image, _ := json.Marshal(map[string]string{"type": "image", "data": "aGVsbG8=", "mimeType": sent})
		got := s.do(t, "POST", path, strings.NewReader(`{"kind":"user","body":"","attachments":[`+string(image)+`]}`), "Content-Type", jsonType)
		loaded := s.get(t, path+"/attachments/att_direct_"+decode[receipt](t, got.body).SubmissionID+"_0")
		h := loaded.header
		if loaded.status != 200 || loaded.body != "hello" || h.Get("Content-Disposition") != want || h.Get("X-Content-Type-Options") != "nosniff" ||
			h.Get("Content-Security-Policy") != "sandbox" || h.Get("Cache-Control") != "private, max-age=31536000, immutable" {
			t.Errorf("%q: %d %v", sent, loaded.status, h)
		}
	}
}
