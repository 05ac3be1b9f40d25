package config

import "svc.dev/svc/service/mail"

// Mails reports whether there is a mail server.
func (c Config) Mails() bool { return c.SMTPURL.Reveal() != "" }

// MailConfig is how mails are sent by a service with these surfaces.
func (c Config) MailConfig(all Surfaces) mail.Config {
	return mail.Config{
		SMTP: c.SMTPURL.Reveal(), From: c.SMTPFrom, URL: all[0].URL.String(), Development: all.Mode() == Development, Keep: c.RetentionOutbox,
	}
}
