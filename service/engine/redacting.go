package engine

import "net/http"

// redacting lets no secret out with an error. The body of an error is written at once.
type redacting struct {
	http.ResponseWriter
	redact func([]byte) []byte
	failed bool
}

// WriteHeader notes whether an error follows. Its body may get another length.
func (a *redacting) WriteHeader(status int) {
	if a.failed = status >= http.StatusBadRequest; a.failed {
		a.Header().Del("Content-Length")
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *redacting) Write(b []byte) (int, error) {
	if !a.failed {
		return a.ResponseWriter.Write(b)
	}
	if _, err := a.ResponseWriter.Write(a.redact(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Unwrap is for http.ResponseController.
func (a *redacting) Unwrap() http.ResponseWriter { return a.ResponseWriter }
