package secret

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/strictjson"
)

var errKidForm = errors.New("key ring: a kid is 1 to 64 letters, digits, dots, dashes and underscores")

// ParseRing reads a ring from its JSON, {"active":"k2","keys":{"k1":"base64 of 32 bytes",…}}. It is strict: a member
// that is unknown or stands twice is an error, for encoding/json would silently take the last of two keys. No error repeats
// what was read.
func ParseRing(text []byte) (*Ring, error) {
	var read struct {
		Active string            `json:"active"`
		Keys   map[string]string `json:"keys"`
	}
	if err := strictjson.Decode(text, &read); err != nil {
		f := fault.From(err)
		return nil, fmt.Errorf(`key ring is not of the form {"active":"kid","keys":{"kid":"base64"}}: %s`, strings.TrimSpace(f.Message+" "+f.Details))
	}
	keys := map[string]Secret{}
	for _, kid := range slices.Sorted(maps.Keys(read.Keys)) {
		if !kidForm.MatchString(kid) {
			return nil, errKidForm
		}
		key, err := base64.StdEncoding.DecodeString(read.Keys[kid])
		// The decoder skips line breaks and ignores loose bits.
		if err != nil || base64.StdEncoding.EncodeToString(key) != read.Keys[kid] {
			return nil, fmt.Errorf("key ring: key %s is not base64", kid)
		}
		keys[kid] = Hide(string(key))
	}
	return makeRing(read.Active, keys)
}
