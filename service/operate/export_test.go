package operate

import (
	"context"
	"io"
	"log/slog"
	"net/http"
)

// Stalled is how long a command may stand still.
const Stalled = stalled

// Sending answers a command with what send writes.
func Sending(log *slog.Logger, send func(io.Writer) error) http.Handler {
	m := &Machine{Keys: &Keys{config: KeysConfig{Log: log}}}
	return sender(m, "backup", func(_ context.Context, _ struct{}, w io.Writer) error { return send(w) })
}

// Receiving gives what a command sends to read.
func Receiving(read func(io.Reader) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = read(&attentive{r.Body, http.NewResponseController(w)})
	})
}
