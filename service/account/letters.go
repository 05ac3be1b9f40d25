package account

import (
	"context"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/mail"
)

// letters are the mails that accounts send. Somebody without an address gets none.
type letters struct{ outbox *mail.Outbox }

// post writes to the database and sends the mails that were written with it.
func (a *Accounts) post(ctx context.Context, fn func(tx *sqldb.Tx, out *letters) error) error {
	err := a.db.Write(ctx, func(tx *sqldb.Tx) error { return fn(tx, &letters{a.Mail}) })
	if err == nil {
		a.Mail.Wake()
	}
	return err
}

func (l *letters) send(tx *sqldb.Tx, to string, content mail.Content) error {
	if to == "" {
		return nil
	}
	return l.outbox.Queue(tx, mail.Message{To: to, Content: content})
}

func (l *letters) signUp(tx *sqldb.Tx, to, value string) error {
	return l.send(tx, to, mail.SignUp{Token: value, Life: verifyLife})
}

// haveAccount answers somebody who signs up with an address that has an account.
func (l *letters) haveAccount(tx *sqldb.Tx, p Account) error {
	if p.deletedAt != 0 {
		return nil
	}
	return l.send(tx, p.Email, mail.HaveAccount{})
}

func (l *letters) verify(tx *sqldb.Tx, to, value string) error {
	return l.send(tx, to, mail.VerifyEmail{Token: value, Life: verifyLife})
}

func (l *letters) reset(tx *sqldb.Tx, to, value string) error {
	return l.send(tx, to, mail.ResetPassword{Token: value, Life: resetLife})
}

func (l *letters) passwordChanged(tx *sqldb.Tx, to string) error {
	return l.send(tx, to, mail.PasswordChanged{})
}

func (l *letters) changeEmail(tx *sqldb.Tx, to, value string) error {
	return l.send(tx, to, mail.ChangeEmail{Token: value, Life: verifyLife})
}

// emailChanged tells the old address, with a way back.
func (l *letters) emailChanged(tx *sqldb.Tx, to, value string) error {
	return l.send(tx, to, mail.EmailChanged{Token: value, Life: undoLife})
}

func (l *letters) linked(tx *sqldb.Tx, to, login string) error {
	return l.send(tx, to, mail.ProviderLinked{Provider: "GitHub", Login: login})
}

func (l *letters) unlinked(tx *sqldb.Tx, to, login string) error {
	return l.send(tx, to, mail.ProviderUnlinked{Provider: "GitHub", Login: login})
}

func (l *letters) keyExposed(tx *sqldb.Tx, to, name string) error {
	return l.send(tx, to, mail.KeyExposed{Name: name})
}
