package page

// Reauth is the page at ReauthPath, which asks for a fresh proof of identity. Its form posts password and returnTo.
type Reauth struct {
	Desk
	// Password and GitHub are the ways that this account has.
	Password, GitHub bool
	// Elevate is true on the Admin surface, where the form posts to ElevatePath instead.
	Elevate bool
	// Fresh is true when who somebody is was proven a moment ago: nothing is asked for, and the form's password is empty.
	Fresh bool
}

func (r Reauth) sheet() sheet {
	s := sheet{name: "reauth", title: "Confirm it is you", shell: slip, aid: true, admin: r.Elevate}
	if r.Password && !r.Fresh {
		s.fields = []string{"password"}
	}
	return s
}

// Back is where the provider leads after it has confirmed: an address on Admin needs its host.
func (f frame) Back() string {
	if f.OnAdmin && len(f.Form.ReturnTo) > 0 && f.Form.ReturnTo[0] == '/' {
		return f.Admin + f.Form.ReturnTo
	}
	return f.Form.ReturnTo
}
