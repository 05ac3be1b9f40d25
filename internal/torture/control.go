package torture

import (
	"encoding/json"
	"net/http"
)

// Control lets another process say what is to happen, over HTTP:
//
//	POST   /plans      a Plan, or a list of them                   204
//	DELETE /plans      Forget                                      204
//	GET    /exchanges  what has passed since: [Exchange]           200
//	GET    /hits       how many plans have come true since: {hits} 200
//	PUT    /target     {"address": "127.0.0.1:1"}                  204
//	POST   /sever      cut all that is open                        204
func (p *Proxy) Control() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /plans", done(p.addPlans))
	mux.HandleFunc("DELETE /plans", done(func(*http.Request) error { p.Forget(); return nil }))
	mux.HandleFunc("GET /exchanges", func(w http.ResponseWriter, _ *http.Request) { tell(w, p.Passed()) })
	mux.HandleFunc("GET /hits", func(w http.ResponseWriter, _ *http.Request) { tell(w, map[string]int{"hits": p.Hits()}) })
	mux.HandleFunc("PUT /target", done(func(r *http.Request) error {
		var to struct{ Address string }
		err := json.NewDecoder(r.Body).Decode(&to)
		if err == nil {
			p.Move(to.Address)
		}
		return err
	}))
	mux.HandleFunc("POST /sever", done(func(*http.Request) error { p.Sever(); return nil }))
	return mux
}

// addPlans takes one plan, or several.
func (p *Proxy) addPlans(r *http.Request) error {
	var text json.RawMessage
	if err := json.NewDecoder(r.Body).Decode(&text); err != nil {
		return err
	}
	if text[0] != '[' {
		text = append(append([]byte{'['}, text...), ']')
	}
	var plans []Plan
	if err := json.Unmarshal(text, &plans); err != nil {
		return err
	}
	return p.Plan(plans...)
}

// done does something of which there is nothing to tell.
func done(do func(*http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := do(r); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}
}

func tell(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}
