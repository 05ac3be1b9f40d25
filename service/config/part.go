package config

import (
	"errors"
	"fmt"

	"svc.dev/svc/service/database"
	"svc.dev/svc/service/scope"
)

// Part is what one process is of the service: all of it, or one of two that share a database.
type Part struct {
	Name  string
	Faces bool // it has accounts, and answers the public
	Works bool // it has a runtime
}

// The parts there are.
var (
	Whole        = Part{Name: "serve", Faces: true, Works: true}
	GatewayAlone = Part{Name: "gateway", Faces: true}
	RuntimeAlone = Part{Name: "runtime", Works: true}
)

// Check refuses a configuration that a part cannot serve, or not safely. Its text names each key that is wrong, and what to
// write instead.
func (p Part) Check(c Config) error {
	c = c.WithDefaults()
	if p == Whole {
		return c.check()
	}
	return errors.Join(c.check(), p.CheckDatabase(c), p.CheckTokens(c))
}

// CheckDatabase refuses a database that two processes cannot have.
func (p Part) CheckDatabase(c Config) error {
	if database.IsPostgres(c.Database) {
		return nil
	}
	return fmt.Errorf("database: svc %s shares its database with another process, which SQLite cannot: set it to postgres://…, or run svc serve, which is both in one", p.Name)
}

// CheckTokens refuses a gateway that would not be believed, and a runtime that would believe too much.
func (p Part) CheckTokens(c Config) error {
	key, value := "runtime.assertion_key", c.AssertionKey.Reveal()
	if p.Works {
		key, value = "runtime.assertion_public", c.AssertionPublic
	}
	token, admin := c.RuntimeToken.Reveal(), c.RuntimeAdminToken.Reveal()
	if err := errors.Join(missing("runtime.token", token), missing("runtime.admin_token", admin), missing(key, value)); err != nil {
		return err
	}
	if p.Works {
		_, err := c.Guard()
		return err
	}
	if len(token) < scope.MinToken || len(admin) < scope.MinToken || token == admin {
		return errors.New("runtime.token, runtime.admin_token: each needs 32 bytes or more, and must be another than the other")
	}
	if _, err := c.SigningKey(); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

// missing refuses a value that was not given.
func missing(key, value string) error {
	switch {
	case value != "":
		return nil
	case key == "runtime.assertion_key" || key == "runtime.assertion_public":
		return fmt.Errorf("%s: it is missing: svc keys assertion makes a pair for gateway and runtime", key)
	}
	return fmt.Errorf("%s: it is missing: give gateway and runtime the same random value of 32 bytes or more", key)
}
