package page

// Provider is sign-in through somebody else, as far as a page needs to know.
type Provider struct {
	// Ready is true when sign-in works. A provider that is not ready is shown, with the reason why it cannot be used.
	Ready bool
	// SetupURL is where staff set it up. Empty for everybody else.
	SetupURL string
}

// SignIn is the page at SignInPath. Its form posts email, password and returnTo.
type SignIn struct {
	Form
	Email   string
	GitHub  Provider
	MailOff bool
	// Unclaimed is true while the service has no administrator.
	Unclaimed bool
}

func (SignIn) sheet() sheet {
	return sheet{name: "login", title: "Sign in", shell: door, aid: true, fields: []string{"email", "password"}}
}

// SignUp is the page at SignUpPath. Its form posts email, password, username, displayName and returnTo.
type SignUp struct {
	Form
	Email, Username, DisplayName string
	GitHub                       Provider
	MailOff                      bool
}

func (SignUp) sheet() sheet {
	return sheet{name: "signup", title: "Create an account", shell: door, aid: true, fields: []string{"email", "password", "username", "displayName"}}
}

// SignUpSent is the page at SignUpSentPath: a mail was sent, whether or not the address was free.
type SignUpSent struct{}

func (SignUpSent) sheet() sheet {
	return sheet{name: "signup_sent", title: "Check your mail", shell: door}
}

// Forgot is the page at ForgotPath. Its form posts email.
type Forgot struct {
	Form
	Email   string
	MailOff bool
}

func (Forgot) sheet() sheet {
	return sheet{name: "forgot", title: "Forgot your password", shell: door, fields: []string{"email"}}
}

// ForgotSent is the page at ForgotSentPath: a mail is on its way if there is such an account.
type ForgotSent struct {
	MailOff bool
}

func (ForgotSent) sheet() sheet {
	return sheet{name: "forgot_sent", title: "Check your mail", shell: door}
}

// Link is the page at LinkPath, for somebody whom the provider vouches for and whose address an account already has. Its
// form posts ticket, email, password and returnTo; with SignedInAs ticket and returnTo alone.
type Link struct {
	Form
	Ticket string
	Email  string // of the account
	Login  string // the name at the provider
	// SignedInAs is the username of whoever is signed in to the account already. Empty: the password is asked for.
	SignedInAs string
	// Separate offers to go on with an account of its own, without an address, by a form to LinkSeparatePath.
	Separate bool
}

func (l Link) sheet() sheet {
	s := sheet{name: "link", title: "Link GitHub", shell: door, aid: true}
	if l.SignedInAs == "" {
		s.fields = []string{"email", "password"}
	}
	return s
}

// Setup is the page at SetupPath, where the first administrator begins. Its form posts token, email, password and
// username; with SignedInAs the token alone.
type Setup struct {
	Form
	Token           string
	Email, Username string
	// SignedInAs is the username of whoever is signed in, and becomes administrator. Empty: an account is made.
	SignedInAs string
	// Closed is true when there is an administrator.
	Closed bool
}

func (s Setup) sheet() sheet {
	if s.Closed {
		return sheet{name: "setup", title: "Set up", shell: door}
	}
	fields := []string{"token"}
	if s.SignedInAs == "" {
		fields = append(fields, "email", "password", "username")
	}
	return sheet{name: "setup", title: "Set up", shell: door, aid: true, token: true, fields: fields}
}
