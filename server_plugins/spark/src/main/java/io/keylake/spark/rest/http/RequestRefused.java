package io.keylake.spark.rest.http;

/** A request that is answered with an error before the catalog is asked. */
public final class RequestRefused extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final int status;
  private final String type;

  /**
   * @param status of HTTP
   * @param type the name of the error in Iceberg's protocol
   */
  public RequestRefused(int status, String type, String sentence) {
    super(sentence, null, false, false); // nobody reads the trace
    this.status = status;
    this.type = type;
  }

  public static RequestRefused bad(String sentence) {
    return new RequestRefused(400, "BadRequestException", sentence);
  }

  public static RequestRefused forbidden(String sentence) {
    return new RequestRefused(403, "ForbiddenException", sentence);
  }

  public static RequestRefused notFound(String sentence) {
    return new RequestRefused(404, "NotFoundException", sentence);
  }

  int status() {
    return status;
  }

  String type() {
    return type;
  }

  String sentence() {
    return String.valueOf(getMessage());
  }
}
