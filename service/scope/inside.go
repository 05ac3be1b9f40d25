package scope

import (
	"context"
	"crypto/rand"
	"net/http"
)

// voucher is claims within one process, with the token that proves who makes them.
type voucher struct {
	claims Claims
	token  string
}

type voucherKey struct{}

// NewPair is a gateway and a runtime in one process. Their tokens are random, and nobody else learns them.
func NewPair() (*Forward, *Guard) {
	f := &Forward{Token: rand.Text() + rand.Text(), AdminToken: rand.Text() + rand.Text()}
	return f, &Guard{Tokens: []string{f.Token}, AdminTokens: []string{f.AdminToken}}
}

// Within is a runtime in this process as its gateway reaches it: the claims of a request travel with the token of their
// authority. A request without claims gets none, and is refused there.
func (f *Forward) Within(runtime http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := From(r.Context()); ok {
			r = r.WithContext(context.WithValue(r.Context(), voucherKey{}, voucher{c, f.present().token(c.Authority)}))
		}
		runtime.ServeHTTP(w, r)
	})
}

// token is what goes with an authority.
func (f *Forward) token(authority string) string {
	if authority == StaffAuth {
		return f.AdminToken
	}
	return f.Token
}
