package certificate

import (
	"net/http"
	"net/url"
)

// Redirect sends browsers that came without TLS to the same address with it. Whatever is no question is left to refuse: it has told
// its secrets already, and shall be mended instead of followed.
func Redirect(origins []*url.URL, refuse http.Handler) http.Handler {
	byHost := map[string]*url.URL{}
	for _, u := range origins {
		byHost[u.Hostname()] = u
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to := byHost[(&url.URL{Host: r.Host}).Hostname()]
		if to == nil || r.Method != http.MethodGet && r.Method != http.MethodHead {
			refuse.ServeHTTP(w, r)
			return
		}
		http.Redirect(w, r, to.String()+r.URL.RequestURI(), http.StatusPermanentRedirect)
	})
}
