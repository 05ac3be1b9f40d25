package listing

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
)

// Tag is the ETag of a list as it is printed, and reports whether whoever sent the header has it already.
func Tag(h http.Header, body []byte) (tag string, has bool) {
	sum := sha256.Sum256(body)
	tag = `"` + hex.EncodeToString(sum[:12]) + `"`
	known := strings.Split(strings.ReplaceAll(strings.Join(h.Values("If-None-Match"), ","), " ", ""), ",")
	return tag, slices.Contains(known, tag) || slices.Contains(known, "*")
}
