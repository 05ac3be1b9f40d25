package main

import (
	_ "time/tzdata" // the zones of schedules, where the system has none

	_ "golang.org/x/crypto/x509roots/fallback" // the authorities of certificates, where the system has none: a container of this binary alone
)
