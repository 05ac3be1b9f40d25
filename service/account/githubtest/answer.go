package githubtest

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"strconv"
)

// answer is what is sent back.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func reply(status int, v any) answer {
	body, err := json.Marshal(v)
	if err != nil {
		panic("githubtest: " + err.Error())
	}
	return answer{status, http.Header{"Content-Type": {"application/json; charset=utf-8"}}, body}
}

// refuse is an error of the REST API.
func refuse(status int, message string) answer {
	return reply(status, map[string]string{
		"message": message, "documentation_url": "https://docs.github.com/rest", "status": strconv.Itoa(status),
	})
}

func moved(to string) answer {
	return answer{http.StatusFound, http.Header{"Location": {to}}, nil}
}

// with adds a header.
func (a answer) with(name, value string) answer {
	a.header.Set(name, value)
	return a
}

const (
	hexDigits = "0123456789abcdef"
	alnum     = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
)

// random is so many characters of an alphabet.
func random(alphabet string, n int) string {
	b := make([]byte, n)
	rand.Read(b)
	for i := range b {
		b[i] = alphabet[int(b[i])%len(alphabet)]
	}
	return string(b)
}
