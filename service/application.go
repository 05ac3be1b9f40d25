package service

import (
	"path/filepath"

	"svc.dev/svc/service/access"
	"svc.dev/svc/service/application"
	"svc.dev/svc/service/surface"
	"svc.dev/svc/web"
)

// openApplication makes the web application ready that this binary carries.
func (s *server) openApplication(at surface.Surfaces) (*application.Application, error) {
	return application.Open(application.Config{
		Built: web.Built(), Folder: filepath.Join(s.config.DataDir, "assets"), Log: s.log,
		Addresses: map[string]string{"platform": at.Origin(access.Platform), "agents": at.Origin(access.Agents), "admin": at.Origin(access.Admin)},
	})
}
