package io.keylake.spark.rest;

import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import io.keylake.spark.rest.http.Answer;
import io.keylake.spark.rest.http.Failures;
import io.keylake.spark.rest.http.Request;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Requests over HTTP. Each of them needs the token; what fails is logged without a trace. */
final class CatalogHandler implements HttpHandler {
  private static final Logger LOG = LoggerFactory.getLogger(CatalogHandler.class);
  private static final int NO_BODY = -1;
  private static final int OF_THE_SERVER = 500; // and above

  private final BearerToken token;
  private final Routes routes;

  CatalogHandler(BearerToken token, Routes routes) {
    this.token = token;
    this.routes = routes;
  }

  @Override
  public void handle(HttpExchange exchange) throws IOException {
    try {
      send(exchange, answer(exchange));
    } finally {
      exchange.close();
    }
  }

  private Answer answer(HttpExchange exchange) throws IOException {
    String method = exchange.getRequestMethod();
    try {
      token.check(exchange.getRequestHeaders().getFirst("Authorization"));
      return routes.answer(Request.of(exchange));
    } catch (IOException e) {
      throw e;
    } catch (Exception e) { // Scala throws checked ones, too
      Answer answer = Failures.answer(e, method.equals("GET") || method.equals("HEAD"));
      if (answer.status() >= OF_THE_SERVER) {
        String path = exchange.getRequestURI().getRawPath(); // encoded, so that it is one line
        LOG.warn("{} {} is answered by {}: {}", method, path, answer.status(), reason(e));
        LOG.debug("The failure was", e);
      }
      return answer;
    }
  }

  private static String reason(Exception failure) {
    return Failures.firstLine(failure);
  }

  private static void send(HttpExchange exchange, Answer answer) throws IOException {
    Headers headers = exchange.getResponseHeaders();
    if (answer.tag() != null) {
      headers.set("ETag", answer.tag());
    }
    if (answer.status() == 401) {
      headers.set("WWW-Authenticate", "Bearer");
    }
    if (answer.json() == null || exchange.getRequestMethod().equals("HEAD")) {
      exchange.sendResponseHeaders(answer.status(), NO_BODY);
      return;
    }
    byte[] body = answer.json().getBytes(StandardCharsets.UTF_8);
    headers.set("Content-Type", "application/json");
    exchange.sendResponseHeaders(answer.status(), body.length);
    exchange.getResponseBody().write(body);
  }
}
