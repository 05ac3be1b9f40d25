// Package site is the pages of the product and their forms, for people without scripts. A page is a row with the view that it
// shows, and a form is a row that does what an operation of the API does, under the same need and limits: nothing can be done by
// a form that its operation would refuse.
package site

import (
	"context"
	"net/http"
	"net/url"
	"slices"

	"svc.dev/svc/service/access"
	"svc.dev/svc/service/operation"
	"svc.dev/svc/service/page"
	"svc.dev/svc/service/strictjson"
)

// Row is one method of one page.
type Row struct {
	On     []access.Surface
	Method string
	Path   string
	Need   access.Need
	// Do is what comes of a visit.
	Do func(context.Context, *Visit) (Next, error)
	// Again is the page of a form that was refused, with what was typed; nil: a refusal has a page of its own.
	Again View
	// Proves: a proof that is missing is asked for on the page itself.
	Proves bool
}

// View is what a page shows, with what is said of its form.
type View func(context.Context, *Visit, page.Form) (page.View, error)

// Next is what a person sees next: a page, or the address of another.
type Next struct {
	To     string
	Notice page.Notice // what happened on the way
	Page   page.View
	Status int // of the page; zero: it is well
	// Application is the document of the web application, in the place of a page.
	Application bool
}

// Visit is one request for a page, or one that sends its form.
type Visit struct {
	operation.Call
	// Query is that of the address, and Params are the parameters of its path.
	Query  url.Values
	Params map[string]string
	// Body is the form as it was sent.
	Body []byte
	// Application: the web application is there to begin in.
	Application bool
	// MailOff: mails are only printed.
	MailOff bool

	beside []string // fields of the form that are not the operation's
}

// Rows are all pages and forms.
func Rows() []Row {
	return slices.Concat(entries, people, keys, devices, workspaces, providers, applications)
}

var platform = []access.Surface{access.Platform}

// shows is a page.
func shows(path string, need access.Need, view View) Row {
	return Row{On: platform, Method: http.MethodGet, Path: path, Need: need, Do: func(ctx context.Context, v *Visit) (Next, error) {
		shown, err := view(ctx, v, page.Form{})
		return Next{Page: shown}, err
	}}
}

// enters is a page from which a person goes on to where they wanted to go.
func enters(path string, need access.Need, view View) Row {
	return shows(path, need, func(ctx context.Context, v *Visit, form page.Form) (page.View, error) {
		form.ReturnTo, form.Notice = v.Query.Get("returnTo"), v.notice()
		if _, err := v.ReturnTo(form.ReturnTo); err != nil {
			return nil, err
		}
		return view(ctx, v, form)
	})
}

// then is what a person sees when an operation was done.
type then func(context.Context, *Visit, any) (Next, error)

// takes is a form that does an operation. Beside are those of its fields that the operation does not know.
func takes(path, id string, again View, after then, beside ...string) Row {
	op := operationOf(id)
	need := op.Need
	_, inside := need.Inside()
	if inside {
		need = access.SignedIn // the form says which workspace
	}
	return Row{On: platform, Method: http.MethodPost, Path: path, Need: need, Again: again, Do: func(ctx context.Context, v *Visit) (Next, error) {
		v.beside = beside
		if err := v.check(op); err != nil {
			return Next{}, err
		}
		if inside {
			entered, visitor, err := v.Enter(op.Need, v.typed("workspace"))
			if err != nil {
				return Next{}, err
			}
			ctx, v.Visitor, v.Scope = entered, visitor, visitor.Member.Scope
		}
		out, err := op.Do(ctx, v.Call, filled{ctx: ctx, v: v})
		if err != nil {
			return Next{}, err
		}
		return after(ctx, v, out)
	}}
}

// operationOf is an operation by its name. One that is missing is a mistake in a row.
func operationOf(id string) operation.Row {
	all := operation.Rows()
	found := slices.IndexFunc(all, func(r operation.Row) bool { return r.ID == id })
	if found < 0 {
		panic("site: there is no operation " + id)
	}
	return all[found]
}

// does is a form that no single operation is.
func does(path string, need access.Need, again View, do func(context.Context, *Visit) (Next, error)) Row {
	return Row{On: platform, Method: http.MethodPost, Path: path, Need: need, Do: do, Again: again}
}

// first does something before a form is taken, and instead of it where there is something to show.
func (r Row) first(do func(context.Context, *Visit) (Next, error)) Row {
	take := r.Do
	r.Do = func(ctx context.Context, v *Visit) (Next, error) {
		if next, err := do(ctx, v); err != nil || next.Page != nil || next.To != "" {
			return next, err
		}
		return take(ctx, v)
	}
	return r
}

func (r Row) on(surfaces ...access.Surface) Row {
	r.On = surfaces
	return r
}

// Refused is the page of a form that was refused.
func (r Row) Refused(ctx context.Context, v *Visit, form page.Form) (page.View, error) {
	form.ReturnTo = v.typed("returnTo")
	return r.Again(ctx, v, form)
}

// check looks at what a form says that its operation does not read.
func (v *Visit) check(op operation.Row) error {
	if slices.Contains(v.beside, "returnTo") {
		if _, err := v.ReturnTo(v.typed("returnTo")); err != nil {
			return err
		}
	}
	if op.HasBody() {
		return nil
	}
	return v.fill(&struct{}{})
}

// fill reads the fields of the form, strictly.
func (v *Visit) fill(into any) error { return strictjson.Form(v.Body, into, v.beside...) }

// typed is what was typed into a field, to judge or to show it again. What is read strictly is read by fill.
func (v *Visit) typed(name string) string { return v.form().Get(name) }

// ticked are all values of a field.
func (v *Visit) ticked(name string) []string { return v.form()[name] }

// form is what can be read of the form.
func (v *Visit) form() url.Values {
	values, _ := url.ParseQuery(string(v.Body))
	return values
}

// sent reports whether a form with a field was sent.
func (v *Visit) sent(name string) bool { return v.ticked(name) != nil }

// pasted is the form with the token of the link that was pasted into it.
func pasted(_ context.Context, v *Visit) (Next, error) {
	values, err := url.ParseQuery(string(v.Body))
	if err == nil && len(values["token"]) == 1 {
		values.Set("token", page.TokenOf(values.Get("token")))
		v.Body = []byte(values.Encode())
	}
	return Next{}, nil // what is no form is refused where it is read
}

// notice is what happened on the way here.
func (v *Visit) notice() page.Notice {
	if denied := v.Query.Get("error"); denied != "" {
		return page.Notice(denied)
	}
	return page.Notice(v.Query.Get("notice"))
}

// leads is an address that is always the same.
func leads(to string, n page.Notice) then {
	return func(context.Context, *Visit, any) (Next, error) { return Next{To: to, Notice: n}, nil }
}

// goesOn leads to where the person wanted to go, or else elsewhere.
func goesOn(otherwise string) then {
	return func(_ context.Context, v *Visit, _ any) (Next, error) {
		to := v.typed("returnTo")
		if to == "" && otherwise != "" {
			return Next{To: otherwise}, nil
		}
		to, err := v.ReturnTo(to)
		return Next{To: to}, err
	}
}
