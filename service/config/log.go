package config

import (
	"io"
	"log/slog"
	"os"

	"golang.org/x/term"
)

// NewLog writes one line an event to w: as the configuration says, else text on a terminal and JSON elsewhere.
func NewLog(w io.Writer, c Config) *slog.Logger {
	c = c.WithDefaults()
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.LogLevel)) // an unknown name leaves info: Set has refused it before
	o := &slog.HandlerOptions{Level: level}
	if c.LogFormat == "text" || c.LogFormat == "" && IsTerminal(w) {
		return slog.New(slog.NewTextHandler(w, o))
	}
	return slog.New(slog.NewJSONHandler(w, o))
}

// IsTerminal reports whether a person reads what is written to w.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
