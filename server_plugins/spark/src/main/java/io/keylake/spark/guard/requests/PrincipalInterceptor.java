package io.keylake.spark.guard.requests;

import io.keylake.spark.access.AccessControl;
import io.keylake.tables.KeylakeException;
import java.util.Objects;
import org.apache.spark.sql.connect.utils.ErrorUtils$;
import org.jspecify.annotations.Nullable;
import org.sparkproject.connect.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import org.sparkproject.connect.grpc.Metadata;
import org.sparkproject.connect.grpc.ServerCall;
import org.sparkproject.connect.grpc.ServerCallHandler;
import org.sparkproject.connect.grpc.ServerInterceptor;
import org.sparkproject.connect.grpc.Status;
import org.sparkproject.connect.grpc.stub.StreamObserver;
import org.sparkproject.connect.protobuf.Message;
import scala.Option;

/**
 * The door of a server with an access policy. The token of a request says which principal asks;
 * what the request itself says of its user is passed over. Spark Connect makes it by its name.
 */
public final class PrincipalInterceptor implements ServerInterceptor {
  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  private static final String BEARER = "Bearer ";

  private final AccessControl control =
      Objects.requireNonNull(AccessControl.ofServer(), "a server with a policy");

  @Override
  public <Q, A> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
    String principal = principal(headers.get(AUTHORIZATION));
    if (principal == null) {
      call.close(
          Status.UNAUTHENTICATED.withDescription(
              "The server has an access policy, and the token of the request is of none of its principals, or has ended; connect with the token of a principal"),
          new Metadata());
      return new ServerCall.Listener<>() {};
    }
    return new OfPrincipal<>(control, principal, call, next.startCall(call, headers));
  }

  private @Nullable String principal(@Nullable String authorization) {
    return authorization == null || !authorization.startsWith(BEARER)
        ? null
        : control.principal(authorization.substring(BEARER.length())).orElse(null);
  }

  /** An end of a call by an error, in the form that clients of Spark Connect read. */
  private record Closing(ServerCall<?, ?> call) implements StreamObserver<Object> {
    @Override
    public void onNext(Object answer) {
      throw new UnsupportedOperationException("a refused call has no answer");
    }

    @Override
    public void onError(Throwable failure) {
      Metadata trailers = Status.trailersFromThrowable(failure);
      call.close(Status.fromThrowable(failure), trailers == null ? new Metadata() : trailers);
    }

    @Override
    public void onCompleted() {
      call.close(Status.OK, new Metadata());
    }
  }

  /** The messages of one call, which are of a principal. */
  private static final class OfPrincipal<Q> extends SimpleForwardingServerCallListener<Q> {
    private final Request request;
    private final ServerCall<Q, ?> call;
    private boolean isRefused;

    OfPrincipal(
        AccessControl control,
        String principal,
        ServerCall<Q, ?> call,
        ServerCall.Listener<Q> next) {
      super(next);
      this.request = new Request(control, principal);
      this.call = call;
    }

    @Override
    @SuppressWarnings("unchecked")
    public void onMessage(Q message) {
      if (isRefused) {
        return;
      }
      try {
        super.onMessage((Q) request.ofPrincipal((Message) message));
      } catch (KeylakeException e) {
        isRefused = true;
        ErrorUtils$.MODULE$
            .handleError(
                "request",
                new Closing(call),
                request.principal(),
                Request.session((Message) message),
                Option.empty(),
                false,
                Option.empty())
            .apply(e);
      }
    }

    @Override
    public void onHalfClose() {
      if (!isRefused) {
        super.onHalfClose();
      }
    }
  }
}
