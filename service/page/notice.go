package page

import "cmp"

// Notice is something that happened on the way to a page, as the query of its address names it. A page shows the sentence
// of a notice it knows and nothing for any other, so an address cannot put words on a page.
type Notice string

// The notices that pages know.
const (
	NoticeAccessDenied       Notice = "access_denied"
	NoticeSignedOut          Notice = "signed_out"
	NoticePasswordReset      Notice = "password_reset"
	NoticePasswordChanged    Notice = "password_changed"
	NoticePasswordSet        Notice = "password_set"
	NoticeEmailVerified      Notice = "email_verified"
	NoticeEmailRestored      Notice = "email_restored"
	NoticeEmailChangeSent    Notice = "email_change_sent"
	NoticeVerificationSent   Notice = "verification_sent"
	NoticeAccountRestored    Notice = "account_restored"
	NoticeProfileSaved       Notice = "profile_saved"
	NoticeLinked             Notice = "identity_linked"
	NoticeUnlinked           Notice = "identity_unlinked"
	NoticeSessionEnded       Notice = "session_ended"
	NoticeSessionsEnded      Notice = "sessions_ended"
	NoticeKeyRevoked         Notice = "key_revoked"
	NoticeDeviceApproved     Notice = "device_approved"
	NoticeDeviceDenied       Notice = "device_denied"
	NoticeWorkspaceMade      Notice = "workspace_made"
	NoticeWorkspaceRestored  Notice = "workspace_restored"
	NoticeJoined             Notice = "joined"
	NoticeProviderConfigured Notice = "provider_configured"
	NoticeInstalled          Notice = "provider_installed"
	NoticePermissionMissing  Notice = "provider_email_permission_missing"
	NoticeEmailInUse         Notice = "email_in_use_unverified"
)

// banner is a message above the content of a page.
type banner struct {
	Tone, Text string // Tone: ok or warn
}

var notices = map[Notice]banner{
	NoticeAccessDenied:       {"warn", "GitHub sign-in was cancelled. Nothing has changed."},
	NoticeSignedOut:          {"ok", "You are signed out."},
	NoticePasswordReset:      {"ok", "Your password is changed and every session is ended. Sign in with the new one."},
	NoticePasswordChanged:    {"ok", "Your password is changed. Other sessions are ended."},
	NoticePasswordSet:        {"ok", "Your password is set. You can sign in with it from now on."},
	NoticeEmailVerified:      {"ok", "Your e-mail address is verified. Sign in to go on."},
	NoticeEmailRestored:      {"ok", "Your earlier e-mail address is back and every session is ended. Choose a new password before you sign in."},
	NoticeEmailChangeSent:    {"ok", "A mail is on its way to the new address. It takes effect when you open the link in it."},
	NoticeVerificationSent:   {"ok", "A mail is on its way to your address. Its link works for 24 hours."},
	NoticeAccountRestored:    {"ok", "Your account is restored. Sign in to go on."},
	NoticeProfileSaved:       {"ok", "Saved."},
	NoticeLinked:             {"ok", "GitHub is linked. You can sign in with it from now on."},
	NoticeUnlinked:           {"ok", "The connection is removed."},
	NoticeSessionEnded:       {"ok", "The session is ended."},
	NoticeSessionsEnded:      {"ok", "All other sessions are ended."},
	NoticeKeyRevoked:         {"ok", "The key is revoked. It stopped working."},
	NoticeDeviceApproved:     {"ok", "Approved. Go back to your device: it fetches its key within a few seconds."},
	NoticeDeviceDenied:       {"ok", "Denied. The device gets no key."},
	NoticeWorkspaceMade:      {"ok", "The workspace is made. You are its owner."},
	NoticeWorkspaceRestored:  {"ok", "The workspace is back, with all that was in it."},
	NoticeJoined:             {"ok", "You are in. The workspace stands in your list."},
	NoticeProviderConfigured: {"ok", "The GitHub app is set up. Sign-in with GitHub works now."},
	NoticeInstalled:          {"ok", "The app is installed."},
	NoticePermissionMissing:  {"warn", permissionMissing},
	NoticeEmailInUse:         {"warn", emailInUse},
}

// mailed are the notices of a mail, which a server prints that sends none.
var mailed = map[Notice]bool{NoticeEmailChangeSent: true, NoticeVerificationSent: true}

const (
	permissionMissing = "The GitHub app lacks the Email addresses (read) account permission; the public profile address is used and is not verified."
	emailInUse        = "Another account uses the e-mail address that GitHub gave, so this account has none. Add an address that is yours alone."
)

// Banner is the notice of a page, nil when it has none that is known or a standing warning already says it.
func (f frame) Banner() *banner {
	b, ok := notices[f.Form.Notice]
	if !ok || f.Person.warned(string(f.Form.Notice)) {
		return nil
	}
	if f.Person != nil && f.Person.Printed && mailed[f.Form.Notice] {
		b.Text = "Mail is off on this server: the link is printed to its log."
	}
	return &b
}

// Warning is what stays on every page until it is solved, as in GET /api/auth/session.
type Warning struct {
	Type    string
	Message string // shown when the type is not known here
}

// Text is the sentence of the warning.
func (w Warning) Text() string { return cmp.Or(notices[Notice(w.Type)].Text, w.Message) }
