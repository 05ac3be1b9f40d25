package agent

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"svc.dev/svc/internal/sqldb"
)

// intake is what files say that are new or changed.
type intake struct {
	found   map[string]stamp // all files
	well    []Definition
	wrong   map[string]error // the faults of those that are no agents
	circles map[string]bool  // those that are wrong because of others
	last    map[string]Past  // the newest version of each that has one
}

// number is the agents that an intake puts on the shelf, each with its version. What is wrong stays as it is there; where nothing is,
// as after a start, it is the version that was the last.
//
// The version of a file grows with every change, that to what it said before too. It is the same on all nodes, and work that began
// with it finds it when the file says something else.
func (a *Agents) number(ctx context.Context, r *intake) ([]*file, error) {
	return sqldb.Write(ctx, a.DB, func(tx *sqldb.Tx) (up []*file, err error) {
		if err := tx.Alone("agent files"); err != nil {
			return nil, err
		}
		if r.last, err = lastOf(tx, r); err != nil {
			return nil, err
		}
		for _, d := range a.shelf.refuseCycles(r) {
			n, err := a.numberOf(tx, d, r.last[d.Name])
			if err != nil {
				return nil, err
			}
			up = append(up, &file{Definition: d, number: n, changed: r.found[d.Name].changed})
		}
		for name := range r.wrong {
			if last, there := r.last[name]; there && a.shelf.find(name) == nil {
				up = append(up, &file{Definition: last.Definition, number: last.Version, changed: last.CreatedAt.Time})
			}
		}
		return up, nil
	})
}

// lastOf are the newest versions of the files of an intake.
func lastOf(tx *sqldb.Tx, r *intake) (map[string]Past, error) {
	names := slices.Collect(maps.Keys(r.wrong))
	for _, d := range r.well {
		names = append(names, d.Name)
	}
	all := map[string]Past{}
	for _, name := range names {
		if !isName(name) {
			continue // a database may not even have the characters
		}
		last, found, err := lastFile(tx, name)
		if err != nil {
			return nil, err
		}
		if found {
			all[name] = last
		}
	}
	return all, nil
}

// numberOf is the version of what a file says: the last one where that says the same.
func (a *Agents) numberOf(tx *sqldb.Tx, d Definition, last Past) (int64, error) {
	if last.Version > 0 && len(changed(last.Definition, d)) == 0 {
		return last.Version, nil
	}
	// A node that is behind reads what another has numbered: it does not count again.
	if own := a.shelf.find(d.Name); own != nil {
		n, err := later(tx, d, own.number)
		if err != nil || n > 0 {
			return n, err
		}
	}
	_, err := addVersion(tx, "", last.Version+1, d, a.Now(), File)
	return last.Version + 1, err
}

// later is the newest version behind another in which a file said the same; 0: there is none.
func later(tx *sqldb.Tx, d Definition, behind int64) (int64, error) {
	settings, err := json.Marshal(d.Settings)
	if err != nil {
		return 0, err
	}
	return sqldb.Value[int64](tx, "find version", `SELECT COALESCE(MAX(version), 0) FROM agent_versions WHERE scope = '' AND name = $1 AND version > $2
		AND settings = $3 AND instructions = $4 AND output_schema = $5`, d.Name, behind, string(settings), d.Instructions, string(d.OutputSchema))
}

// agree takes over later numbers of what the files say, once in a while: a node whose file said something else meanwhile has counted
// on.
func (a *Agents) agree(ctx context.Context) error {
	if time.Since(a.shelf.agreed) < recount {
		return nil
	}
	up, err := sqldb.Read(ctx, a.DB, func(tx *sqldb.Tx) (up []*file, err error) {
		newest, err := newestFiles(tx)
		for _, f := range a.shelf.all() {
			if err != nil || newest[f.Name] <= f.number {
				continue
			}
			var n int64
			if n, err = later(tx, f.Definition, f.number); n > 0 {
				up = append(up, &file{Definition: f.Definition, number: n, changed: f.changed})
			}
		}
		return up, err
	})
	if err != nil {
		return err
	}
	a.shelf.agreed = time.Now()
	a.shelf.put(up)
	return nil
}

// newestFiles are the newest versions of files by their names.
func newestFiles(tx *sqldb.Tx) (map[string]int64, error) {
	newest := map[string]int64{}
	_, err := sqldb.Collect(tx, func(row sqldb.Row) (name string, err error) {
		var n int64
		err = row.Scan(&name, &n)
		newest[name] = n
		return name, err
	}, "SELECT name, MAX(version) FROM agent_versions WHERE scope = '' GROUP BY name")
	return newest, err
}

// refuseCycles is what of an intake is well together with what stands on the shelf. A file of a circle joins the wrong ones: what is
// new yields to what was there. A workspace's own agents are not looked at, which a file does not know; a circle over those ends
// when it is asked.
func (s *shelf) refuseCycles(r *intake) []Definition {
	for name := range r.circles { // of a try that the database gave up
		delete(r.wrong, name)
	}
	asks := s.asks(r)
	well := r.newFirst()
	// One that is refused stays what it was, by which others may be in a circle: they are looked at again.
	for before := -1; before != len(well); {
		before = len(well)
		well = slices.DeleteFunc(well, func(d Definition) bool {
			err := d.cycle(asks)
			if err != nil {
				r.wrong[d.Name], r.circles[d.Name] = err, true
				asks[d.Name] = s.stands(d.Name, r)
			}
			return err != nil
		})
	}
	for _, name := range slices.Sorted(maps.Keys(r.last)) {
		if r.wrong[name] != nil && s.find(name) == nil && r.last[name].cycle(asks) != nil {
			delete(r.last, name)
			delete(asks, name)
		}
	}
	return well
}

// asks are whom files ask, once those of an intake are among them.
func (s *shelf) asks(r *intake) map[string][]string {
	asks := map[string][]string{}
	for _, f := range s.all() {
		asks[f.Name] = f.asks()
	}
	for name := range r.wrong {
		asks[name] = s.stands(name, r)
	}
	for _, d := range r.well {
		asks[d.Name] = d.asks()
	}
	return asks
}

// newFirst are the agents of an intake, those first that say something new.
func (r *intake) newFirst() (all []Definition) {
	var known []Definition
	for _, d := range r.well {
		if len(changed(r.last[d.Name].Definition, d)) == 0 {
			known = append(known, d)
		} else {
			all = append(all, d)
		}
	}
	return append(all, known...)
}

// stands is whom a file asks that is wrong, by what stays in its place.
func (s *shelf) stands(name string, r *intake) []string {
	if f := s.find(name); f != nil {
		return f.asks()
	}
	return r.last[name].asks()
}
