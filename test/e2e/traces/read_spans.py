"""Reads bodies of OTLP/HTTP requests, one base64 text a line, and prints each span as a line of JSON."""

import base64
import json
import sys

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span


def value_of(value):
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [value_of(item) for item in value.array_value.values]
    return getattr(value, kind)


def attributes_of(pairs):
    return {pair.key: value_of(pair.value) for pair in pairs}


for line in sys.stdin:
    request = ExportTraceServiceRequest.FromString(base64.b64decode(line))
    for resource_spans in request.resource_spans:
        service = attributes_of(resource_spans.resource.attributes)["service.name"]
        for scope_spans in resource_spans.scope_spans:
            for span in scope_spans.spans:
                print(
                    json.dumps(
                        {
                            "service": service,
                            "name": span.name,
                            "kind": Span.SpanKind.Name(span.kind),
                            "traceId": span.trace_id.hex(),
                            "spanId": span.span_id.hex(),
                            "parentId": span.parent_span_id.hex(),
                            "milliseconds": (span.end_time_unix_nano - span.start_time_unix_nano) / 1e6,
                            "attributes": attributes_of(span.attributes),
                            "links": [link.trace_id.hex() for link in span.links],
                        }
                    )
                )
