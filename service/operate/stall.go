package operate

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// stalled is how long a command may read nothing of what it is sent, or send nothing of what is read. It is given up then: what a backup
// holds would be held for ever.
const stalled = 15 * time.Minute

// insistent writes to a command that goes on reading.
type insistent struct {
	to      io.Writer
	control *http.ResponseController
}

func insistOn(w http.ResponseWriter) *insistent { return &insistent{w, http.NewResponseController(w)} }

func (i *insistent) Write(p []byte) (int, error) {
	_ = i.control.SetWriteDeadline(time.Now().Add(stalled)) // where none can be set nobody stalls
	n, err := i.to.Write(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("the command has read nothing for %s: %w", stalled, err)
	}
	return n, err
}

// attentive reads from a command that goes on sending.
type attentive struct {
	from    io.Reader
	control *http.ResponseController
}

func (a *attentive) Read(p []byte) (int, error) {
	_ = a.control.SetReadDeadline(time.Now().Add(stalled)) // where none can be set nobody stalls
	n, err := a.from.Read(p)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = fmt.Errorf("the command has sent nothing for %s: %w", stalled, err)
	case err != nil:
		// The server looks now whether the command is still there, for as long as the answer takes.
		_ = a.control.SetReadDeadline(time.Time{})
	}
	return n, err
}
