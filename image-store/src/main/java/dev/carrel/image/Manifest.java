package dev.carrel.image;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import dev.carrel.spi.Text;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * What an image is made of, as a registry or an archive says it.
 *
 * @param layers lowest first
 */
record Manifest(Descriptor config, List<Descriptor> layers) {
  static final String OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json";
  static final String OCI_INDEX = "application/vnd.oci.image.index.v1+json";
  static final String OCI_CONFIG = "application/vnd.oci.image.config.v1+json";
  static final String OCI_LAYER = "application/vnd.oci.image.layer.v1.tar";
  static final String DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json";
  static final String DOCKER_LIST = "application/vnd.docker.distribution.manifest.list.v2+json";
  static final ObjectMapper JSON = JsonMapper.builder().build();

  Manifest {
    layers = List.copyOf(layers);
    if (layers.isEmpty() || layers.size() > ImageLimits.MAX_LAYERS) {
      throw BadImage.because("it has " + layers.size() + " layers");
    }
  }

  static JsonNode json(byte[] bytes) throws IOException {
    try {
      JsonNode node = JSON.readTree(bytes);
      if (node != null && node.isContainerNode()) {
        return node;
      }
    } catch (JsonProcessingException e) {
      // Its message would show the content, which may be anything.
    }
    throw BadImage.because("its manifest is not readable");
  }

  static Manifest of(JsonNode node) {
    var layers = new ArrayList<Descriptor>();
    for (JsonNode layer : node.path("layers")) {
      if (layer.path("mediaType").asText().contains("encrypted")) {
        throw BadImage.because("a layer is encrypted");
      }
      layers.add(descriptor(layer));
    }
    return new Manifest(descriptor(node.path("config")), layers);
  }

  /** Whether this is a list of manifests rather than one. */
  static boolean isIndex(JsonNode node) {
    return node.path("manifests").isArray();
  }

  /** The manifest for a platform; a list with a single one and no platform said is that one's. */
  static Descriptor choose(JsonNode index, Platform platform) {
    var offered = new ArrayList<String>();
    Optional<Descriptor> best = Optional.empty();
    for (JsonNode entry : index.path("manifests")) {
      JsonNode said = entry.path("platform");
      if (said.isMissingNode() && index.path("manifests").size() == 1) {
        return descriptor(entry);
      }
      var one =
          new Platform(
              said.path("os").asText(),
              said.path("architecture").asText(),
              said.path("variant").asText(""));
      if (one.serves(platform) && (best.isEmpty() || one.variant().equals(platform.variant()))) {
        best = Optional.of(descriptor(entry));
      } else if (!one.os().equals("unknown")) {
        offered.add(one.toString());
      }
    }
    return best.orElseThrow(
        () ->
            BadImage.because(
                "it is not made for %s but for %s"
                    .formatted(platform, Text.printable(String.join(", ", offered), 300))));
  }

  /** The digests of a configuration's layers, unpacked. */
  static List<Digest> layersOf(JsonNode config, int expected) {
    var layers = new ArrayList<Digest>();
    for (JsonNode layer : config.path("rootfs").path("diff_ids")) {
      layers.add(Digest.parse(layer.asText()));
    }
    if (layers.size() != expected) {
      throw BadImage.because("its configuration has other layers than its manifest");
    }
    return layers;
  }

  static Descriptor descriptor(JsonNode node) {
    long size = node.path("size").asLong(-1);
    if (size < 0) {
      throw BadImage.because("its manifest is incomplete");
    }
    return new Descriptor(
        node.path("mediaType").asText(""), Digest.parse(node.path("digest").asText("")), size);
  }
}
