package io.gsonfire;

import com.google.gson.GsonBuilder;

public class GsonFireBuilder {
  public GsonBuilder createGsonBuilder() {
    return new GsonBuilder();
  }
}
