// SPDX-License-Identifier: Apache-2.0

package main

// The OTLP endpoint of a Pyroscope: over HTTP, and over gRPC on the same port.

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"strings"

	"connectrpc.com/connect"
	collectorv1 "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	_ "google.golang.org/grpc/encoding/gzip" // the real one takes it, too
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

const (
	exportPath     = "/v1development/profiles"
	exportGrpcPath = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
	grpcRequestMax = 100 << 20
)

type otlpServer struct {
	collectorv1.UnimplementedProfilesServiceServer
	*receiver
}

// export gives a status where there is nothing that could be taken, else the worst of the refusals
// with its Connect code: what is invalid goes before what came too fast. Before a profile could be too
// large it is too much for the rate.
func (s *otlpServer) export(tenant string, request *collectorv1.ExportProfilesServiceRequest) error {
	series, err := convert(request)
	if err != nil {
		say(map[string]string{"refused": err.Error(), "code": codes.InvalidArgument.String()})
		return status.Error(codes.InvalidArgument, err.Error())
	}
	var worst error
	for _, err := range s.takeAll(tenant, series, requestMax) {
		if worst == nil || connect.CodeOf(err) == connect.CodeInvalidArgument {
			worst = err
		}
	}
	return worst
}

// Export answers over gRPC. Connect's codes are gRPC's.
func (s *otlpServer) Export(ctx context.Context, request *collectorv1.ExportProfilesServiceRequest) (*collectorv1.ExportProfilesServiceResponse, error) {
	about, _ := metadata.FromIncomingContext(ctx)
	err := s.export(strings.Join(about.Get(tenantHeader), ""), request)
	if _, is := status.FromError(err); !is {
		err = status.Error(codes.Code(connect.CodeOf(err)), err.Error())
	}
	if err != nil {
		return nil, err
	}
	return &collectorv1.ExportProfilesServiceResponse{}, nil
}

// ServeHTTP answers over HTTP, with 500 to a request that can be no profiles at all, as the real one does.
func (s *otlpServer) ServeHTTP(writer http.ResponseWriter, request *http.Request) {
	if kind := request.Header.Get("Content-Type"); kind != "application/x-protobuf" {
		http.Error(writer, "unsupported: "+kind, http.StatusUnsupportedMediaType)
		return
	}
	message, err := readRequest(request)
	if err != nil {
		http.Error(writer, err.Error(), http.StatusBadRequest)
		return
	}
	err = s.export(request.Header.Get(tenantHeader), message)
	if err != nil {
		http.Error(writer, err.Error(), httpStatus(err))
		return
	}
	writer.Header().Set("Content-Type", "application/x-protobuf") // an empty response has no bytes
}

func httpStatus(err error) int {
	switch connect.CodeOf(err) {
	case connect.CodeInvalidArgument:
		return http.StatusBadRequest
	case connect.CodeResourceExhausted:
		return http.StatusTooManyRequests
	default:
		return http.StatusInternalServerError
	}
}

func readRequest(request *http.Request) (*collectorv1.ExportProfilesServiceRequest, error) {
	var body io.Reader = request.Body
	if request.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(body)
		if err != nil {
			return nil, err
		}
		body = unzipped
	}
	plain, err := io.ReadAll(io.LimitReader(body, requestMax))
	if err != nil {
		return nil, err
	}
	message := &collectorv1.ExportProfilesServiceRequest{}
	return message, proto.Unmarshal(plain, message)
}

func serveOtlp(mux *http.ServeMux, r *receiver) {
	server := &otlpServer{receiver: r}
	calls := grpc.NewServer(grpc.MaxRecvMsgSize(grpcRequestMax))
	collectorv1.RegisterProfilesServiceServer(calls, server)
	mux.Handle("POST "+exportPath, server)
	mux.Handle("POST "+exportGrpcPath, calls)
}
