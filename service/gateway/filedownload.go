package gateway

import (
	"errors"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/project"
	"svc.dev/svc/service/surface"
)

// download lets a file out so that a browser does nothing with it but keep it: it is somebody else's content on our origin.
func (x *exchange) download(c *project.Content) error {
	if err := x.Still(); err != nil {
		return err
	}
	if asked := x.Request.Header.Get("Range"); !strings.HasPrefix(asked, "bytes=") || strings.Contains(asked, ",") {
		x.Request.Header.Del("Range") // nobody must give several parts in one answer, or parts by another measure
	}
	h := x.Out.Header()
	policy := h.Get("Content-Security-Policy")
	h.Set("Content-Type", harmless(c.Path))
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": path.Base(c.Path)}))
	h.Set("Content-Security-Policy", "sandbox; "+policy)
	h.Set("Cache-Control", "no-store")
	h.Set("ETag", c.ETag)
	d := &download{Answer: x.Out, pace: x.paced(http.NewResponseController(x.Out).SetWriteDeadline)}
	// Without a time only the etag counts: two changes within a second are two.
	http.ServeContent(d, x.Request, "", time.Time{}, c)
	if d.refused == 0 {
		return nil
	}
	for _, name := range []string{"Content-Disposition", "Accept-Ranges", "ETag"} {
		h.Del(name)
	}
	h.Set("Content-Security-Policy", policy)
	switch d.refused {
	case http.StatusRequestedRangeNotSatisfiable:
		return fault.New(fault.RangeNotSatisfiable, "The file does not have this part.", "Its size stands in Content-Range.")
	case http.StatusPreconditionFailed:
		return fault.New(fault.VersionConflict, "Somebody changed this file in the meantime.", "Read it again.").With("version", c.ETag)
	}
	return errors.New("the file cannot be read")
}

// download is an answer whose refusals are ours to write.
type download struct {
	*surface.Answer
	pace    pace
	refused int
}

func (d *download) WriteHeader(status int) {
	if status >= 400 {
		d.refused = status
		return
	}
	d.Answer.WriteHeader(status)
}

func (d *download) Write(b []byte) (int, error) {
	if d.refused != 0 {
		return len(b), nil
	}
	if err := d.pace.ask(); err != nil {
		return 0, err // what has begun is broken off
	}
	d.pace.step()
	return d.Answer.Write(b)
}

// pictures are the types that a browser can show and cannot run.
var pictures = map[string]string{
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp", ".avif": "image/avif",
	".pdf": "application/pdf", ".json": "application/json",
}

// texts are the ends of names of what a person can read. What a browser would run is text like any other.
var texts = " .txt .md .markdown .csv .tsv .log .html .htm .xhtml .xml .svg .css .js .mjs .ts .tsx .jsx .go .py .rb .rs .java .c .h .cpp .sh .sql .yaml .yml .toml .ini .conf "

// harmless is a type by which no content is ever run, whatever it is.
func harmless(name string) string {
	end := strings.ToLower(path.Ext(name))
	switch {
	case pictures[end] != "":
		return pictures[end]
	case end != "" && strings.Contains(texts, " "+end+" "):
		return "text/plain; charset=utf-8"
	}
	return "application/octet-stream"
}
