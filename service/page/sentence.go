package page

import "cmp"

// sentences say what is wrong with a field. The empty type answers for the others.
var sentences = map[string]map[string]string{
	"email": {
		"":         "Enter an e-mail address like name@example.com.",
		"too_long": "An e-mail address has at most 254 characters.",
	},
	"password":        passwordSentences("Enter your password."),
	"newPassword":     passwordSentences("Enter the new password."),
	"currentPassword": {"": "Enter the password you have now."},
	"username": {
		"":          "Use lower-case letters, digits and single hyphens, like ada-moreno.",
		"too_short": "A username has at least 2 characters.",
		"too_long":  "A username has at most 39 characters.",
		"taken":     "This username is taken. Choose another.",
	},
	"displayName": {
		"":         "Enter a name without line breaks.",
		"too_long": "A name has at most 80 characters.",
	},
	"unlink": {"": "One of these is no longer linked. Send the form again."},
	"token":  {"": "This token is not valid. Open the link again, or paste all of it."},
	"name": {
		"":          "Give the key a name.",
		"too_short": "Give the key a name.",
		"too_long":  "A name has at most 64 characters.",
		"taken":     "Another key has this name. Choose another.",
	},
	"business": {
		"":         "Use lower-case letters, digits and single hyphens, like acme-labs.",
		"too_long": "A short name has at most 48 characters.",
		"taken":    "You have used this short name before. Choose another.",
	},
	"title":        {"": "Enter a name without line breaks.", "too_long": "A name has at most 80 characters."},
	"scopes":       {"": "Choose what the key may do.", "too_short": "Choose what the key may do."},
	"expiresAt":    {"": "Choose when the key ends, at most 366 days from now."},
	"graceSeconds": {"": "Choose how long the old key goes on working, at most a day."},
	"confirm":      {"": "This is not the name. Type it exactly as it is shown."},
	"owner":        {"": "Enter the organization's name as it stands in its GitHub address."},
	"kind":         {"": "Choose who owns the app."},
	"user_code":    {"": "No device shows this code now. Type it as your device shows it, or start again there."},
	"days":         {"": "Choose how long the device may act for you, at most 90 days."},
	"decision":     {"": "Choose whether to approve or to deny."},
	"ticket":       {"": "This request to link is over. Continue with GitHub again."},
}

func passwordSentences(missing string) map[string]string {
	return map[string]string{
		"":           missing,
		"too_short":  "Use at least 12 characters.",
		"too_long":   "Use at most 256 characters.",
		"too_common": "This password is too easy to guess. A few unrelated words work well.",
	}
}

// general are the sentences for a field that has none of its own.
var general = map[string]string{
	"too_short":  "This is too short.",
	"too_long":   "This is too long.",
	"too_common": "This is too easy to guess.",
	"taken":      "This is taken.",
}

// sentence is what a person is told about a refused field.
func sentence(field, typ string) string {
	own := sentences[field]
	return cmp.Or(own[typ], general[typ], own[""], "Part of the form is not valid: "+visible(field)+".")
}
