package service

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/config"
	"svc.dev/svc/service/database"
	"svc.dev/svc/service/models"
	"svc.dev/svc/sqlstore"
	"svc.dev/svc/ts"
	"svc.dev/svc/ts/dev"
)

// Author is whoever works on a project.
type Author struct {
	// Announce is told once where the project is found. Defaults to nobody.
	Announce func(Developing)
	// Rebuilt hears of every build after that. Defaults to nobody.
	Rebuilt func(Rebuilt)
}

// Developing says where a project is found while its author works on it.
type Developing struct {
	Address string
	Page    string
	Folder  string
	Data    string
	Rebuilt Rebuilt // for the first time
}

// Rebuilt is what came of a change of the project's files.
type Rebuilt struct {
	Number  int
	Failure string // what is wrong, with the lines around it; empty: the build serves
	Serving bool   // this build does, or the last that was good
	Bytes   int
	Took    time.Duration
}

func rebuilt(b dev.Build) Rebuilt {
	r := Rebuilt{Number: b.Number, Serving: b.Serving, Bytes: b.Bytes, Took: b.Took}
	if b.Err != nil {
		r.Failure = dev.Explain(b.Err)
	}
	return r
}

// Dev serves a project without accounts until ctx ends, and follows its files. Its streams are kept in the data folder.
func Dev(ctx context.Context, folder string, c config.Config, log *slog.Logger, author Author) (err error) {
	if c.Database == "" {
		c.Database = "sqlite:" + filepath.Join(c.DataDir, "dev.db")
	}
	d := &workbench{config: c.WithDefaults(), log: log}
	defer func() { err = errors.Join(err, d.close()) }()
	if err := d.open(ctx, folder); err != nil {
		return err
	}
	if at, ok := d.listener.Addr().(*net.TCPAddr); ok && !at.IP.IsLoopback() {
		log.Warn("other machines can reach this address, and nobody signs in", "address", at.String())
	}
	s, err := d.build(ctx, author)
	if err != nil {
		return err
	}
	if author.Announce != nil {
		at := "http://" + d.listener.Addr().String()
		author.Announce(Developing{Address: at, Page: at + dev.Page, Folder: d.folder, Data: d.config.DataDir, Rebuilt: rebuilt(s.Last())})
	}
	return serveDev(ctx, s, d.listener)
}

// workbench is what a project needs that somebody works on.
type workbench struct {
	config   config.Config
	log      *slog.Logger
	folder   string // the project's, absolute
	listener net.Listener
	data     *sqldb.Folder
	store    *sqlstore.Store
}

// open takes the address first, so that a taken one is noticed before anything is made.
func (d *workbench) open(ctx context.Context, folder string) (err error) {
	if d.folder, err = projectFolder(folder); err != nil {
		return err
	}
	if d.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", d.config.Listen); err != nil {
		return addressError("listen", d.config.Listen, err)
	}
	if d.data, err = devFolder(d.config.DataDir); err != nil {
		return err
	}
	if err := ts.RenewTypes(d.folder); err != nil {
		return err
	}
	d.store, err = sqlstore.Open(ctx, d.config.Database, sqlstore.Config{Folder: d.data, Synchronous: d.config.Synchronous, Log: d.log})
	return err
}

// build builds the project for the first time. The author hears of every further build.
func (d *workbench) build(ctx context.Context, author Author) (*dev.Server, error) {
	node, err := d.data.Node()
	if err != nil {
		return nil, err
	}
	ignored, err := filepath.Abs(d.config.DataDir)
	if err != nil {
		return nil, err
	}
	return dev.Open(ctx, dev.Config{
		Folder: d.folder, Ignore: ignored, Store: d.store, Node: node, Log: d.log, Project: ts.Config{Env: projectEnv(d.config.ProjectEnv)},
		Model: models.Direct(d.config.ModelServices(), d.config.ModelIdleTimeout),
		Told: func(b dev.Build) {
			if b.Number > 1 && author.Rebuilt != nil {
				author.Rebuilt(rebuilt(b))
			}
		},
	})
}

// close closes what was opened, the data folder last.
func (d *workbench) close() (err error) {
	if d.listener != nil {
		d.listener.Close() // the server has closed it, or there was none
	}
	if d.store != nil {
		err = d.store.Close()
	}
	if d.data != nil {
		err = errors.Join(err, d.data.Close())
	}
	return err
}

// projectFolder is a folder, and not what svc bundle made of one: that does not change.
func projectFolder(name string) (string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", &os.PathError{Op: "svc dev", Path: name, Err: errors.New("it is no folder: svc serve --project runs a bundle")}
	}
	return filepath.Abs(name)
}

// devFolder holds the data folder, which no repository should keep.
func devFolder(name string) (*sqldb.Folder, error) {
	folder, err := database.HoldFolder(name)
	if err != nil {
		return nil, err
	}
	ignore := folder.Path(".gitignore")
	if _, missing := os.Stat(ignore); missing != nil {
		err = os.WriteFile(ignore, []byte("*\n"), 0o600)
	}
	if err != nil {
		return nil, errors.Join(err, folder.Close())
	}
	return folder, nil
}

// lastRequests is how long requests may go on while a project that is worked on stops.
const lastRequests = time.Second

// serveDev serves until ctx ends, or the work fails.
func serveDev(ctx context.Context, s *dev.Server, listener net.Listener) error {
	server := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: maxHeader}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.Run(ctx) })
	group.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastRequests)
		defer cancel()
		if server.Shutdown(last) != nil {
			return server.Close()
		}
		return nil
	})
	return group.Wait()
}
