package account

// The warnings that an account can carry.
const (
	WarnNoEmail    = "provider_email_permission_missing"
	WarnEmailInUse = "email_in_use_unverified"
)

// Warning is something that its person should know of an account.
type Warning struct {
	Type     string `json:"type"`
	Provider string `json:"provider,omitempty"` // empty: it has to do with none
	Message  string `json:"message"`
}

// Warnings are what the person should know, never nil.
func (p Account) Warnings() []Warning {
	all := []Warning{}
	if p.noEmail {
		all = append(all, Warning{WarnNoEmail, byGitHub,
			"The GitHub app lacks the Email addresses (read) account permission; the public profile address is used and is not verified."})
	}
	if p.emailInUse {
		all = append(all, Warning{WarnEmailInUse, byGitHub,
			"Another account uses the e-mail address of your GitHub account; this account has none."})
	}
	return all
}
