// SPDX-License-Identifier: Apache-2.0

// Pushreceiver takes what is pushed to a Pyroscope: its own published API (messages, handlers) in
// front of the checks of check.go, and OTLP profiles over HTTP and gRPC, which convert.go makes
// pushes of. What a real one would take is kept below -out, a pair of files a profile:
// NNNNNN.pb.gz as it was sent or converted, NNNNNN.json with labels and tenant.
//
// It prints JSON lines: first {"url"}, then {"kept"} or {"refused", "code"} for each profile.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"connectrpc.com/connect"
	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/push/v1/pushv1connect"
	"golang.org/x/time/rate"
)

const tenantHeader = "X-Scope-OrgID"

type receiver struct {
	out string

	mutex  sync.Mutex
	count  int
	limits map[string]*rate.Limiter // by tenant
}

type kept struct {
	Labels  map[string]string `json:"labels"`
	Tenant  string            `json:"tenant"`
	ID      string            `json:"id"`
	TimeNs  int64             `json:"time_ns"`
	Samples int               `json:"samples"`
}

func say(line any) {
	if err := json.NewEncoder(os.Stdout).Encode(line); err != nil {
		log.Fatal(err)
	}
}

// Push answers with the first error.
func (r *receiver) Push(_ context.Context, request *connect.Request[pushv1.PushRequest]) (*connect.Response[pushv1.PushResponse], error) {
	refusals := r.takeAll(request.Header().Get(tenantHeader), request.Msg.Series, profileMax)
	if len(refusals) > 0 {
		return nil, refusals[0]
	}
	return connect.NewResponse(&pushv1.PushResponse{}), nil
}

// takeAll takes each profile of a request by itself, as the real one does, if it unpacks to at most
// `limit` bytes; it gives why it refused some.
func (r *receiver) takeAll(tenant string, all []*pushv1.RawProfileSeries, limit int) (refusals []error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, series := range all {
		for _, sample := range series.Samples {
			if err := r.take(tenant, series, sample, limit); err != nil {
				say(map[string]string{"refused": err.Error(), "code": connect.CodeOf(err).String()})
				refusals = append(refusals, err)
			}
		}
	}
	return refusals
}

func (r *receiver) take(tenant string, series *pushv1.RawProfileSeries, sample *pushv1.RawSample, limit int) error {
	plain, err := unpack(sample.RawProfile, limit)
	if err != nil {
		return err
	}
	labels, cost, err := checkLabels(series.Labels)
	if err != nil {
		return err
	}
	if !r.limit(tenant).AllowN(time.Now(), len(plain)+cost) {
		return connect.NewError(connect.CodeResourceExhausted, errors.New("the rate limit is reached"))
	}
	parsed, err := checkProfile(plain, len(labels), time.Now())
	if err != nil {
		return err
	}
	return r.keep(sample.RawProfile, kept{labels, tenant, sample.ID, parsed.TimeNanos, len(parsed.Sample)})
}

func (r *receiver) limit(tenant string) *rate.Limiter {
	if r.limits[tenant] == nil {
		r.limits[tenant] = rate.NewLimiter(bytesPerSecond, burst)
	}
	return r.limits[tenant]
}

// keep writes both files, the one with the labels last and in one step: it says that both are whole.
func (r *receiver) keep(raw []byte, about kept) error {
	r.count++
	base := filepath.Join(r.out, fmt.Sprintf("%06d", r.count))
	text, err := json.Marshal(about)
	if err == nil {
		err = os.WriteFile(base+".pb.gz", raw, 0o600)
	}
	if err == nil {
		err = os.WriteFile(base+".tmp", text, 0o600)
	}
	if err == nil {
		err = os.Rename(base+".tmp", base+".json")
	}
	if err != nil {
		return connect.NewError(connect.CodeInternal, err)
	}
	say(map[string]string{"kept": base + ".json"})
	return nil
}

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address and port")
	out := flag.String("out", "", "the folder for what is kept")
	flag.Parse()
	if err := os.MkdirAll(*out, 0o700); err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	all := &receiver{out: *out, limits: map[string]*rate.Limiter{}}
	mux.Handle(pushv1connect.NewPusherServiceHandler(all, connect.WithReadMaxBytes(requestMax)))
	serveOtlp(mux, all)
	say(map[string]string{"url": "http://" + listener.Addr().String()})
	server := http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, Protocols: new(http.Protocols)}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true) // which gRPC needs
	log.Fatal(server.Serve(listener))
}
