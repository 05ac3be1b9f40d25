package mail

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/textproto"
	"strings"

	gomail "github.com/wneessen/go-mail"
)

// The classes of what keeps a mail from being sent: all that the log tells of it, because what servers say repeats
// addresses.
const (
	unreadable = "unreadable"  // it was sealed under another key, or for another row
	unsendable = "unsendable"  // no message can be made of it
	expired    = "expired"     // its link had ended before it could be sent
	noAnswer   = "no_answer"   // the server was not reached
	timedOut   = "timeout"     // the server took too long
	broken     = "broken"      // the connection ended early
	noTLS      = "tls"         // no secure connection, or not with whom we wanted
	noSignIn   = "sign_in"     // the server did not take our name and password
	noService  = "unavailable" // the server greeted with a refusal
	sender     = "sender"      // the server does not take mails from our address
	deferred   = "deferred"    // the server does not take this mail now
	refused    = "refused"     // the server will never take this mail
)

// trouble is why a mail was not sent.
type trouble struct {
	class string
	code  int  // of the server's answer, 0: it gave none
	final bool // no further attempt can succeed
}

// greetingTrouble judges what went wrong before the server heard of the mail. Even its 5xx is not about the mail: a wrong
// password must not cost the mails of the hour in which it is put right.
func greetingTrouble(ctx context.Context, err error) *trouble {
	if t := lineTrouble(ctx, err); t != nil {
		return t
	}
	answer, answered := errors.AsType[*textproto.Error](err)
	switch {
	case answered && (answer.Code == 421 || answer.Code == 554):
		return &trouble{class: noService, code: answer.Code}
	case answered:
		return &trouble{class: noSignIn, code: answer.Code}
	}
	// The rest are the library's own refusals, known by their words: no TLS, or no safe way to sign in was offered.
	if strings.Contains(err.Error(), "STARTTLS") {
		return &trouble{class: noTLS}
	}
	return &trouble{class: noSignIn}
}

// sendingTrouble judges the answer to the mail.
func sendingTrouble(ctx context.Context, err error) *trouble {
	answer, ok := errors.AsType[*gomail.SendError](err)
	if !ok || answer.ErrorCode() == 0 {
		if ctx.Err() != nil {
			return &trouble{class: timedOut}
		}
		return &trouble{class: broken}
	}
	code := answer.ErrorCode()
	switch {
	case code < 500:
		return &trouble{class: deferred, code: code}
	case answer.Reason == gomail.ErrSMTPMailFrom:
		// Our address is the same in every mail: an operator's trouble, not the mail's.
		return &trouble{class: sender, code: code}
	}
	return &trouble{class: refused, code: code, final: true}
}

// lineTrouble judges the connection itself; nil: it is not to blame.
func lineTrouble(ctx context.Context, err error) *trouble {
	var certificate *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	var network *net.OpError
	var slow net.Error
	switch {
	case errors.As(err, &certificate), errors.As(err, &unknown), errors.As(err, &record), errors.As(err, &alert):
		return &trouble{class: noTLS}
	case ctx.Err() != nil, errors.As(err, &slow) && slow.Timeout():
		return &trouble{class: timedOut}
	case errors.As(err, &network) && network.Op == "dial":
		return &trouble{class: noAnswer}
	case errors.As(err, &network), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &trouble{class: broken}
	}
	return nil
}
