// SPDX-License-Identifier: Apache-2.0

package main

// What a Pyroscope with its default settings refuses, and with which code. The numbers are those
// of its documented limits (-validation.*, -distributor.ingestion-*).

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"connectrpc.com/connect"
	"github.com/google/pprof/profile"
	googlev1 "github.com/grafana/pyroscope/api/gen/proto/go/google/v1"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
)

const (
	requestMax      = 256 << 20
	profileMax      = 4 << 20 // unpacked
	samplesMax      = 16000
	depthMax        = 1000  // of a deeper stack it drops the leaf side without a word
	symbolMax       = 65535 // of a longer one the start
	sampleLabelsMax = 100
	seriesLabelsMax = 30
	labelNameMax    = 1024
	labelValueMax   = 2048
	oldest          = time.Hour
	newest          = 10 * time.Minute
	bytesPerSecond  = 4 << 20
	burst           = 2 << 20 // more in one piece can never pass
)

// The names that older servers take, and tenants that have disable_label_sanitization off.
var labelName = regexp.MustCompile(`^[a-zA-Z_.][a-zA-Z0-9_.]*$`)

func invalid(format string, words ...any) error {
	return connect.NewError(connect.CodeInvalidArgument, fmt.Errorf(format, words...))
}

// unpack gives the plain bytes of a pprof, at most `limit`. Like the real server it tells gzip by its
// first bytes and, where the bytes are no gzip after all, knows no better code than "unknown".
func unpack(raw []byte, limit int) ([]byte, error) {
	var plain io.Reader = bytes.NewReader(raw)
	if bytes.HasPrefix(raw, []byte{0x1f, 0x8b}) {
		unzipped, err := gzip.NewReader(plain)
		if err != nil {
			return nil, connect.NewError(connect.CodeUnknown, err)
		}
		plain = unzipped
	}
	out, err := io.ReadAll(io.LimitReader(plain, int64(limit)+1))
	if err != nil {
		return nil, connect.NewError(connect.CodeUnknown, err)
	}
	if len(out) > limit {
		return nil, invalid("the unpacked profile is larger than %d bytes", limit)
	}
	return out, nil
}

// checkLabels looks at a series' labels, which `cost` counts towards the rate. Older servers
// store names with underscores for dots; names that are then the same must have the same value.
func checkLabels(pairs []*typesv1.LabelPair) (labels map[string]string, cost int, err error) {
	labels = map[string]string{}
	stored := map[string]string{}
	for _, pair := range pairs {
		cost += len(pair.Name) + len(pair.Value)
		name := strings.ReplaceAll(pair.Name, ".", "_")
		_, twice := labels[pair.Name]
		if value, there := stored[name]; twice || there && value != pair.Value {
			return nil, 0, invalid("the label %q is there twice", pair.Name)
		}
		stored[name] = pair.Value
		if err := checkLabel(pair.Name, pair.Value); err != nil {
			return nil, 0, err
		}
		labels[pair.Name] = pair.Value
	}
	if labels["__name__"] == "" {
		return nil, 0, invalid("there is no __name__")
	}
	service, named := labels["service_name"]
	if named && service == "" {
		return nil, 0, invalid("service_name is empty")
	}
	if !named {
		labels["service_name"] = "unknown_service"
	}
	if len(labels) > seriesLabelsMax {
		return nil, 0, invalid("%d labels; the limit is %d", len(labels), seriesLabelsMax)
	}
	return labels, cost, nil
}

func checkLabel(name, value string) error {
	if name == "" || !utf8.ValidString(name) || !utf8.ValidString(value) {
		return invalid("the label %q=%q is empty or no UTF-8", name, value)
	}
	if !labelName.MatchString(name) {
		return invalid("the label name %q has a character that is refused", name)
	}
	if len(name) > labelNameMax || len(value) > labelValueMax {
		return invalid("the label %.40q=%.40q is too long", name, value)
	}
	return nil
}

// checkProfile looks at an unpacked pprof, first as the server does, then as pprof itself.
func checkProfile(plain []byte, seriesLabels int, now time.Time) (*profile.Profile, error) {
	var message googlev1.Profile
	if err := message.UnmarshalVT(plain); err != nil {
		return nil, connect.NewError(connect.CodeUnknown, err)
	}
	if err := checkMessage(&message); err != nil {
		return nil, invalid("%v", err)
	}
	if at := time.Unix(0, message.TimeNanos); message.TimeNanos > 0 &&
		(!at.After(now.Add(-oldest)) || !at.Before(now.Add(newest))) {
		return nil, invalid("the profile's time %s is outside of the ingestion window", at.UTC())
	}
	parsed, err := profile.ParseUncompressed(plain)
	if err != nil {
		return nil, invalid("%v", err)
	}
	if err := parsed.CheckValid(); err != nil {
		return nil, invalid("%v", err)
	}
	for _, sample := range parsed.Sample {
		for name, values := range sample.Label {
			if err := checkLabel(name, values[0]); err != nil {
				return nil, err
			}
		}
		if seriesLabels+len(sample.Label) > seriesLabelsMax {
			return nil, invalid("the texts on a sample make %d labels of a series; the limit is %d",
				seriesLabels+len(sample.Label), seriesLabelsMax)
		}
	}
	return parsed, nil
}

func checkMessage(message *googlev1.Profile) error {
	for i, text := range message.StringTable {
		if !utf8.ValidString(text) {
			return fmt.Errorf("string %d is no UTF-8: %x", i, text)
		}
		if len(text) > symbolMax {
			return fmt.Errorf("string %d has %d bytes; the limit is %d", i, len(text), symbolMax)
		}
	}
	if len(message.StringTable) == 0 || message.StringTable[0] != "" {
		return errors.New("string 0 should be empty")
	}
	if len(message.SampleType) == 0 {
		return errors.New("there is no sample type")
	}
	for _, valueType := range message.SampleType {
		if valueType.Type < 0 || int(valueType.Type) >= len(message.StringTable) ||
			strings.Contains(message.StringTable[valueType.Type], "-") {
			return errors.New("a sample type has a name that is out of range or has a -")
		}
	}
	if len(message.Sample) > samplesMax {
		return fmt.Errorf("%d samples; the limit is %d", len(message.Sample), samplesMax)
	}
	for _, sample := range message.Sample {
		if len(sample.LocationId) > depthMax {
			return fmt.Errorf("a stack of %d frames; the limit is %d", len(sample.LocationId), depthMax)
		}
		if len(sample.Label) > sampleLabelsMax {
			return fmt.Errorf("a sample with %d labels; the limit is %d", len(sample.Label), sampleLabelsMax)
		}
	}
	return nil
}
